// Command scale measures what grows with the number of operations: files on
// disk, memory and time. It prints tables in Markdown.
//
// Usage:
//
//	go run -C bench ./scale [-max N] [-only sizes,memory,growth,kineto] [-kineto DIR] [-update FILE]
//
//	sizes   bytes per span on disk in several formats
//	memory  time and peak resident size of optrace report, constant and full
//	growth  time of optrace report from ten thousand operations to -max
//	kineto  optrace report beside Python on the Kineto files of -kineto
//
// With -update the tables also go into FILE, between the lines <!-- scale --> and
// <!-- end of scale -->; ../docs/performance.md is the documentation's.
//
// With the default of ten million operations it takes a quarter of an hour and
// 5 GB of disk below the user's cache directory, given back at the end.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// bench is what the parts share.
type bench struct {
	env     *measure.Env
	out     io.Writer
	program string // the command optrace
	max     int
	kineto  string
}

// part is one of the tables.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

var parts = []part{
	{"sizes", (*bench).sizes}, {"memory", (*bench).memory}, {"growth", (*bench).growth}, {"kineto", (*bench).kinetoFiles},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := cache.Default()
	if err == nil {
		err = run(ctx, dir, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run prints the tables, with files and programs prepared in the directory dir.
func run(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) error {
	b := new(bench)
	fs := flag.NewFlagSet("scale", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&b.max, "max", 10_000_000, "the largest `number` of operations")
	only := fs.String("only", "", "only these `parts`, separated by commas")
	fs.StringVar(&b.kineto, "kineto", "", "`directory` of Kineto files, none by default")
	update := fs.String("update", "", "write the tables into `FILE`, between the lines <!-- scale --> and <!-- end of scale -->")
	if err := fs.Parse(args); err != nil {
		return err
	}
	names := strings.FieldsFunc(*only, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	if fs.NArg() > 0 || b.max < 1 {
		return fmt.Errorf("unexpected arguments %v", args)
	}
	var document *measure.Section
	var err error
	if *update != "" {
		if document, err = measure.FindSection(*update, "scale"); err != nil {
			return err
		}
	}
	var tables bytes.Buffer
	b.out = io.MultiWriter(stdout, &tables)
	b.env = &measure.Env{Cache: dir, Progress: stderr}
	fmt.Fprintf(b.out, "Measured on %s. %s. Best of three runs, peak resident size as the kernel counts it.\n",
		time.Now().Format(time.DateOnly), measure.ThisMachine(false))
	if b.program, err = cache.Program(ctx, b.env.Cache, "", "./cmd/optrace"); err != nil {
		return err
	}
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if document != nil {
		return document.Replace(tables.String())
	}
	return nil
}

// large is from which number of operations on a file is not kept.
const large = 2_000_000

// withFile calls f with a generated file.
func (b *bench) withFile(ctx context.Context, format workload.Format, ops int, f func(workload.File) error) (err error) {
	env := *b.env
	if ops > large {
		if env.Cache, err = os.MkdirTemp(env.Cache, ".large-"); err != nil {
			return err
		}
		defer func() {
			if removeErr := os.RemoveAll(env.Cache); err == nil {
				err = removeErr
			}
		}()
	}
	file, err := workload.Get(ctx, &env, format, workload.Config{Ops: ops, Kind: workload.G512})
	if err != nil {
		return err
	}
	return f(file)
}

// best runs a program a few times and returns the sample of the shortest run,
// with the largest resident size of all.
func best(ctx context.Context, n int64, name string, args ...string) (measure.Sample, error) {
	var least measure.Sample
	const runs = 3
	for i := range runs {
		s, _, err := measure.CommandRSS(ctx, n, name, args...)
		if err != nil {
			return s, err
		}
		rss := max(s.RSS, least.RSS)
		if i == 0 || s.Wall < least.Wall {
			least = s
		}
		least.RSS = rss
	}
	return least, nil
}

// megabytes returns bytes in units of a million.
func megabytes(n int64) float64 { return float64(n) / 1e6 }
