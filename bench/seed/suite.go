// Package seed compares the analyses over a trace held in memory with a Rust
// program that does the same work as the recorder that this project started from.
package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op/seed"
)

// The sides of the suite.
const (
	rust    = "Rust program"
	columns = "columns"
	entries = "seed.Trace"
)

// Suite returns the comparisons: the five analyses over a million entries that are
// in memory on both sides, one thread each. Each run goes over all entries again,
// and both find the same, to the nanosecond and the entry.
func Suite() []measure.Measure {
	s := &measure.Suite{Name: "analyses in memory", Unit: "entry", Rounds: 15, QuickRounds: 5, Open: open}
	return []measure.Measure{
		{Name: "analyses_vs_seed", Target: 50, Cases: measure.Compare(s, rust, columns), Wall: true,
			What: "five analyses over 1 M entries held in columns", Limit: "memory bandwidth: each pass goes over all columns"},
		{Name: "analyses_entries_vs_seed", Cases: measure.Compare(s, rust, entries), Wall: true, LongOnly: true,
			What: "the same over a slice of entries", Limit: "memory: 450 bytes an entry"},
	}
}

// numEntries is how many entries both sides hold.
const numEntries = 1_000_000

func open(ctx context.Context, env *measure.Env, want measure.Want) (*measure.Opened, error) {
	path, err := build(ctx, env)
	if err != nil {
		return nil, err
	}
	n := env.Size(numEntries, numEntries)
	peer, err := start(ctx, path, n)
	if err != nil {
		return nil, fmt.Errorf("starting the Rust program: %w", err)
	}
	held, trace := newColumns(n), (*seed.Trace)(nil)
	results := map[string]found{columns: ofColumns(held)}
	if want[entries] {
		trace = newTrace(n)
		results[entries] = ofEntries(trace)
	}
	if err := same(peer, results); err != nil {
		return nil, errors.Join(err, peer.close())
	}
	perAnalysis := make([][]float64, numAnalyses)
	// Ours takes microseconds per thousand entries: several passes fill a round.
	const passes = 5
	return &measure.Opened{
		Sides: map[string]measure.Side{
			rust: func(context.Context) (measure.Sample, error) {
				ns, err := peer.run()
				s := measure.Sample{N: int64(n)}
				for i, t := range ns {
					s.Wall += time.Duration(t)
					perAnalysis[i] = append(perAnalysis[i], t/float64(n))
				}
				return s, err
			},
			columns: analysing(n, passes, func() found { return ofColumns(held) }),
			entries: analysing(n, 1, func() found { return ofEntries(trace) }),
		},
		After: func(context.Context) (map[string]float64, error) {
			values := map[string]float64{}
			for i, name := range []string{"operation_summary", "per_device_summary", "communication", "flamegraph", "slowest"} {
				values["seed_rust_"+name+"_ns_per_entry"] = measure.Median(perAnalysis[i])
			}
			return values, nil
		},
		Close: peer.close,
	}, nil
}

// same returns an error unless the Rust program finds what the others did.
func same(peer *program, others map[string]found) error {
	theirs, err := peer.ask("show")
	if err != nil {
		return err
	}
	for name, f := range others {
		if ours := f.lines(); !slices.Equal(theirs, ours) {
			return fmt.Errorf("the Rust program finds %q, %s %q", theirs, name, ours)
		}
	}
	return nil
}

// analysing is a side that runs the analyses.
func analysing(n, passes int, analyses func() found) measure.Side {
	var last found // keeps the compiler from leaving the analyses out
	return func(context.Context) (measure.Sample, error) {
		s, err := measure.Timed(int64(n*passes), func() error {
			for range passes {
				last = analyses()
			}
			return nil
		})
		if len(last.slowest) == 0 {
			err = errors.Join(err, errors.New("nothing found"))
		}
		return s, err
	}
}
