package main

import (
	"context"
	"fmt"

	"github.com/optrace/optrace/bench/workload"
)

// memory prints what optrace report takes: with sections that need constant
// memory, and in full.
func (b *bench) memory(ctx context.Context) error {
	fmt.Fprint(b.out, "\n## optrace report: time and peak resident size\n\n"+
		"| input | operations | sections | s | CPU s | MB | bytes per operation |\n|---|--:|---|--:|--:|--:|--:|\n")
	for _, in := range []struct {
		format workload.Format
		ops    int
	}{{workload.Entries, b.max / 10}, {workload.Entries, b.max}, {workload.OTLPJSON, b.max / 10}, {workload.OTLPProto, b.max / 10}} {
		if in.ops < 1 {
			continue
		}
		err := b.withFile(ctx, in.format, in.ops, func(f workload.File) error {
			for _, section := range []string{"summary", "all"} {
				s, err := best(ctx, f.Ops, b.program, "report", "-json", "-section", section, f.Path)
				if err != nil {
					return err
				}
				perOp := "constant"
				if section == "all" {
					perOp = fmt.Sprintf("%.0f", float64(s.RSS)/float64(f.Ops))
				}
				fmt.Fprintf(b.out, "| %s, %.0f MB | %d | %s | %.2f | %.2f | %.1f | %s |\n", in.format, megabytes(f.Size), f.Ops, section,
					s.Wall.Seconds(), s.CPU.Seconds(), megabytes(s.RSS), perOp)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
