package markdown_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/markdown"
)

// Six runs of a program before a change, and six after it, as a comment on the change.
func ExampleWriteDiff() {
	var base, head []*diff.Run
	for i := range 6 {
		for side, micros := range map[*[]*diff.Run]int{&base: 20 + i, &head: 30 + i} {
			batch := fmt.Sprintf(`{"operation":"matmul","device_id":"cuda:0","duration_us":%d}`, micros)
			records := analyze.Records(entries.NewReader(strings.NewReader(batch), "ops.jsonl").Records())
			report, err := analyze.Run(context.Background(), records, diff.ReportOptions(nil))
			if err != nil {
				panic(err)
			}
			run, err := diff.NewRun("ops.jsonl", report, nil, false)
			if err != nil {
				panic(err)
			}
			*side = append(*side, run)
		}
	}
	report, err := diff.Compare(base, head, diff.Options{})
	if err != nil {
		panic(err)
	}
	if err := markdown.WriteDiff(os.Stdout, report, markdown.Options{}); err != nil {
		panic(err)
	}
	// Output:
	// **Inconclusive: no operation has a start. Durations are compared.**
	//
	// - matmul adds 10.0 µs per run: each is 44.5 % slower \(\+30.4 % to \+60.0 %, p 0.002\), 32.5 µs instead of 22.5 µs.
	//
	// 1 slower
	//
	// | operation | base | head | change | p | n | |
	// |---|--:|--:|--:|--:|--:|---|
	// | `matmul` | 22.5 µs | 32.5 µs | +44.5 % [+30.4, +60.0] | 0.002 | 6+6 | **slower** |
}
