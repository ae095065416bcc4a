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
	peer, err := start(ctx, path, n)
	if err != nil {
		return nil, fmt.Errorf("starting the Rust program: %w", err)
	}
	held := newColumns(n)
	if err := same(peer, ofColumns(held)); err != nil {
		return nil, errors.Join(err, peer.close())
	}
	return &measure.Opened{
		Sides: map[string]measure.Side{
			rust: func(context.Context) (measure.Sample, error) {
				ns, err := peer.run()
				s := measure.Sample{N: int64(n)}
				for _, t := range ns {
					s.Wall += time.Duration(t)
				}
				return s, err
			},
			columns: analysing(n, func() found { return ofColumns(held) }),
		},
		Close: peer.close,
	}, nil
}

// same returns an error unless the Rust program finds what we did.
func same(peer *program, ours found) error {
	theirs, err := peer.ask("show")
	if err != nil {
		return err
	}
	if lines := ours.lines(); !slices.Equal(theirs, lines) {
		return fmt.Errorf("the Rust program finds %q, we %q", theirs, lines)
	}
	return nil
}

// passes is how many times a round goes over the entries: ours takes microseconds per thousand of them.
const passes = 5

func analysing(n int, analyses func() found) measure.Side {
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
