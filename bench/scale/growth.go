package main

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/bench/workload"
)

// growth prints the time against the number of operations: its cost per
// operation should be flat.
func (b *bench) growth(ctx context.Context) error {
	fmt.Fprint(b.out, "\n## Time against the number of operations, entries JSONL\n\n"+
		"| operations | summary s | ns per operation | full report s | ns per operation |\n|--:|--:|--:|--:|--:|\n")
	for ops := 10_000; ops <= b.max; ops *= 10 {
		err := b.withFile(ctx, workload.Entries, ops, func(f workload.File) error {
			fmt.Fprintf(b.out, "| %d ", f.Ops)
			for _, section := range []string{"summary", "all"} {
				s, err := best(ctx, f.Ops, b.program, "report", "-json", "-section", section, f.Path)
				if err != nil {
					return err
				}
				fmt.Fprintf(b.out, "| %.3f | %.0f ", s.Wall.Seconds(), s.Wall.Seconds()*1e9/float64(f.Ops))
			}
			_, err := fmt.Fprintln(b.out, "|")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
