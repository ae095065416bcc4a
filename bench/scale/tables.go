package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/bench/workload"
)

// sizes prints how many bytes a span takes on disk.
func (b *bench) sizes(ctx context.Context) error {
	ops := min(b.max, 1_000_000)
	fmt.Fprintf(b.out, "\n### Bytes per span on disk, %d operations\n\n| format | MB | bytes per span |\n|---|--:|--:|\n", ops)
	row := func(name string, size, spans int64) {
		fmt.Fprintf(b.out, "| %s | %.1f | %.1f |\n", name, megabytes(size), float64(size)/float64(spans))
	}
	for _, format := range []workload.Format{workload.OTLPJSON, workload.OTLPProto, workload.Entries} {
		err := b.withFile(ctx, format, ops, func(f workload.File) error {
			row(string(format), f.Size, f.Spans)
			compressed, err := zstdSize(f.Path)
			if err != nil {
				return err
			}
			row(string(format)+", zstd", compressed, f.Spans)
			if format != workload.Entries {
				return nil
			}
			table, err := b.parquetSize(ctx, f.Path)
			if err == nil {
				row("Parquet, by optrace convert: operations only", table, f.Ops)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// zstdSize returns the size of a file compressed as a whole, at the default
// level.
func zstdSize(path string) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var size counter
	z, err := zstd.NewWriter(&size)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(z, f)
	return int64(size), errors.Join(err, z.Close())
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// parquetSize returns the size of a file's operations as a Parquet table.
func (b *bench) parquetSize(ctx context.Context, path string) (n int64, err error) {
	dir, err := os.MkdirTemp(b.env.Cache, ".parquet-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	table := filepath.Join(dir, "ops.parquet")
	if _, err := best(ctx, 1, b.program, "convert", "-to", "parquet", "-o", table, path); err != nil {
		return 0, err
	}
	info, err := os.Stat(table)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// memory prints what optrace report takes: with sections that need constant
// memory, and in full.
func (b *bench) memory(ctx context.Context) error {
	fmt.Fprint(b.out, "\n### optrace report: time and peak resident size\n\n"+
		"| input | operations | sections | s | CPU s | MB | bytes per operation |\n|---|--:|---|--:|--:|--:|--:|\n")
	for _, in := range []struct {
		format workload.Format
		ops    int
	}{
		{workload.Entries, b.max / 10}, {workload.Entries, b.max}, {workload.OTLPJSON, b.max / 10}, {workload.OTLPProto, b.max / 10},
	} {
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

// growth prints the time against the number of operations: its cost per
// operation should be flat.
func (b *bench) growth(ctx context.Context) error {
	fmt.Fprint(b.out, "\n### Time against the number of operations, entries JSONL\n\n"+
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
