// Command bench compares optrace with libraries and tools that do parts of its work, on this machine.
//
// Usage:
//
//	go run -C bench . [-quick] [-update FILE] [-only NAME,...] [-ways]
//
// It prints a table: the cost of each side, the ratio of the peer's cost to ours, and whether the
// ratio reaches its target. The sides of a comparison take turns in short rounds; the ratio is the
// median over the rounds. Most comparisons run over several kinds of data, and the row has the smallest ratio.
//
//	-quick       do less work: at most 90 s once everything is prepared
//	-update FILE write the table into FILE, between the lines
//	             <!-- table --> and <!-- end of table -->; the
//	             documentation has it in ../docs/performance.md
//	-ways        measure what each way to record costs instead; the
//	             documentation has that table in ../docs/recording.md
//	-only NAMES  run only the comparisons with these names, separated by commas
//
// The first run prepares files and programs below the user's cache directory: simulated and recorded
// operations, the command optrace, and DuckDB from the npm registry. Progress goes to standard error.
// The exit status is 1 after a failure and 0 after a missed target.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/process"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := measure.DefaultCache()
	if err == nil {
		err = run(ctx, &measure.Env{Cache: dir, Progress: os.Stderr}, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measures() []measure.Measure {
	return slices.Concat(record.Suite(), read.Suite(), process.Suite())
}

// run parses the arguments into env and compares.
func run(ctx context.Context, env *measure.Env, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(env.Progress)
	fs.BoolVar(&env.Quick, "quick", false, "do less work: at most 90 s once everything is prepared")
	update := fs.String("update", "",
		"write the table into `FILE`, between the lines <!-- table --> and <!-- end of table -->")
	only := fs.String("only", "", "run only the comparisons with these `names`, separated by commas")
	ways := fs.Bool("ways", false, "measure what each way to record costs instead")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	replace := func(string) error { return nil }
	if *update != "" { // before the work, so that a wrong name costs no time
		var err error
		if replace, err = measure.FindSection(*update); err != nil {
			return err
		}
	}
	if *ways {
		table, err := record.Ways(ctx, env, time.Now())
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, table)
		return errors.Join(err, replace(table))
	}
	chosen, err := choose(measures(), *only)
	if err != nil {
		return err
	}
	rep, failed := measure.Run(ctx, env, chosen)
	table := measure.Table(rep, measure.Machine(env.Quick), time.Now())
	_, err = io.WriteString(stdout, table)
	return errors.Join(failed, err, replace(table))
}

// choose returns the measures with the names, or all of them for "".
func choose(all []measure.Measure, names string) ([]measure.Measure, error) {
	chosen := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range chosen {
		if !slices.ContainsFunc(all, func(m measure.Measure) bool { return m.Name == name }) {
			return nil, fmt.Errorf("there is no comparison %q", name)
		}
	}
	return slices.DeleteFunc(all, func(m measure.Measure) bool {
		return len(chosen) > 0 && !slices.Contains(chosen, m.Name)
	}), nil
}
