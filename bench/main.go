// Command bench compares optrace with the libraries and tools that do parts of
// its work, on the machine it runs on.
//
// Usage:
//
//	go run -C bench . [-quick] [-json] [-update FILE] [-only NAME,...] [-cpuprofile FILE]
//
// It prints a table: the cost of each side, how many times ours the peer's is,
// and whether that reaches the target. The sides of a comparison take turns in
// short rounds; the ratio is the median of the rounds' ratios. Most comparisons
// run over several kinds of data, and the smallest ratio is the row's.
//
//	-quick       less work: ends within 90 s once everything is prepared
//	-json        print one JSON object in place of the table
//	-update FILE write the table into FILE, between the lines
//	             <!-- table --> and <!-- end of table -->; with
//	             ../docs/performance.md that is the documentation's
//	-ways        in place of the comparisons, what each way to record costs; with
//	             -update ../docs/recording.md that is the documentation's
//	-only NAMES  only the comparisons of these names, separated by commas
//	-cpuprofile FILE
//	             write a CPU profile with the label "side" for the side that ran:
//	             go tool pprof -tagfocus 'side=^SDK span$' FILE
//
// The first run prepares files and programs below the user's cache directory:
// simulated and recorded operations, the command optrace, DuckDB from the npm
// registry and, where there is a Rust compiler, a Rust program. Progress goes to
// standard error. The exit status is 1 where something failed, and 0 where a
// target was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/process"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
	"github.com/optrace/optrace/bench/seed"
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
	return slices.Concat(
		record.Suite(),
		read.Suite(),
		process.Suite(),
		seed.Suite(),
	)
}

// run compares in an environment, to which the arguments add.
func run(ctx context.Context, env *measure.Env, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(env.Progress)
	fs.BoolVar(&env.Quick, "quick", false, "less work: ends within 90 s once everything is prepared")
	asJSON := fs.Bool("json", false, "print one JSON object in place of the table")
	update := fs.String("update", "", "write the table into `FILE`, between the lines <!-- table --> and <!-- end of table -->")
	only := fs.String("only", "", "only the comparisons of these `names`, separated by commas")
	ways := fs.Bool("ways", false, "in place of the comparisons, print what each way to record costs")
	profile := fs.String("cpuprofile", "", "write a CPU profile to `FILE`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	replace := func(string) error { return nil }
	if *update != "" { // now, rather than fail when all is done
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
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	rep, failed := measure.Run(ctx, env, chosen)
	failed = errors.Join(failed, stopProfile())
	machine := measure.ThisMachine(env.Quick)
	table := measure.Table(rep, machine, time.Now())
	if *asJSON {
		err = measure.WriteJSON(stdout, rep, machine)
	} else {
		_, err = io.WriteString(stdout, table)
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return errors.Join(failed, replace(table))
}

// startProfile starts a CPU profile, unless path is "", and returns a function
// that ends it.
func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// choose returns the measures with the names, all of them for "".
func choose(all []measure.Measure, names string) ([]measure.Measure, error) {
	chosen := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range chosen {
		if !slices.ContainsFunc(all, func(m measure.Measure) bool { return m.Name == name }) {
			return nil, fmt.Errorf("there is no comparison %q", name)
		}
	}
	return slices.DeleteFunc(all, func(m measure.Measure) bool { return len(chosen) > 0 && !slices.Contains(chosen, m.Name) }), nil
}
