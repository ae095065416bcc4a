package diff_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/op/entries"
)

// Six runs of a program before a change, and six after it.
func ExampleCompare() {
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
	for _, r := range report.Rows {
		c := &r.Comparison
		fmt.Printf("%s: %.0f -> %.0f ns, %s\n", r.Key, c.BaseNS.V, c.HeadNS.V, c.Verdict)
	}
	// Output:
	// matmul: 22494 -> 32496 ns, slower
}
