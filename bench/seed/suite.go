// Package seed compares the analyses over a trace held in memory with a Rust
// program that does the same work as the recorder that this project started from.
package seed

import (
	"context"
	"strings"

	"github.com/optrace/optrace/bench/measure"
)

// The sides of the suite.
const (
	rust    = "Rust program"
	columns = "columns"
)

// Suite returns the comparisons: the five analyses over a million entries that are
// in memory on both sides, one thread each. Each run goes over all entries again,
// and both find the same, to the nanosecond and the entry.
func Suite() []measure.Measure {
	s := &measure.Suite{Name: "analyses in memory", Unit: "entry", Rounds: 15, QuickRounds: 5, Open: open}
	return []measure.Measure{
		{Name: "analyses_vs_seed", Target: 50, Cases: measure.Compare(s, rust, columns), Wall: true,
			Limit: "memory bandwidth: each pass goes over all columns"},
	}
}

const numEntries = 1_000_000

func open(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
	path, err := build(ctx, env)
	if err != nil {
		return nil, err
	}
	n := env.Size(numEntries, numEntries)
	held := newColumns(n)
	return &measure.Opened{
		Sides: map[string]measure.Side{
			rust: func(ctx context.Context) (measure.Sample, error) { return run(ctx, path, n) },
			columns: func(context.Context) (measure.Sample, error) {
				var last func() []string // keeps the compiler from leaving the analyses out
				s, err := measure.Timed(int64(n*passes), func() error {
					for range passes {
						last = analyse(held)
					}
					return nil
				})
				s.Sum = strings.Join(last(), "\n")
				return s, err
			},
		},
	}, nil
}

// passes is how many times a round goes over the entries: ours takes microseconds per thousand of them.
const passes = 5
