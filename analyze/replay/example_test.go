package replay_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// A host launches a at 0 µs and b at 4. Both run for 10 µs on a stream, a from 5 and b from 16. See docs/replay.md.
func Example() {
	f := trace.New()
	for _, o := range []struct {
		name          string
		launch, start int64
	}{{"a", 0, 5_000}, {"b", 4_000, 16_000}} {
		const origin = 1_700_000_000_000_000_000
		f.Add(op.Record{Entry: &op.Entry{
			Operation: o.name, DeviceID: "cuda:0", Stream: op.Known(7), Launch: op.Known(origin + o.launch),
			Start: op.Known(origin + o.start), Duration: 10_000,
		}})
	}
	g := replay.New(f)
	for _, text := range []string{"1x a", "0.5x a", "0x a"} {
		change, err := replay.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := g.Run(change)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(change, r.Run.ReplayedNS)
	}
	// Output:
	// 1x a 26000
	// 0.5x a 21000
	// 0x a 19000
}
