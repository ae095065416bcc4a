package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Report is the outcome of all measures.
type Report struct {
	Rows    []Row              // in the order of the measures
	Reasons map[string]string  // says by name why a measure did not run
	Values  map[string]float64 // further figures by name
}

// Run runs the measures, suite by suite. A failing suite does not stop the others; the error names
// it. A measure has run if all of its cases have.
func Run(ctx context.Context, env *Env, measures []Measure) (*Report, error) {
	var errs []error
	rep := &Report{Reasons: map[string]string{}, Values: map[string]float64{}}
	samples := map[*Suite]map[string][]Sample{}
	needs := map[*Suite]string{}
	for _, m := range measures {
		for _, c := range m.Cases {
			s := c.Suite
			if _, ran := samples[s]; ran || len(samples) > 0 && ctx.Err() != nil {
				continue
			}
			got, err := runSuite(ctx, env, s, measures, rep.Values)
			if unavailable, ok := errors.AsType[*UnavailableError](err); ok {
				needs[s] = unavailable.Need
				env.Log("%s: %v", s.Name, unavailable)
			} else if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
			}
			samples[s] = got
		}
	}
	for _, m := range measures {
		i := slices.IndexFunc(m.Cases, func(c Case) bool {
			return samples[c.Suite][c.Peer] == nil || samples[c.Suite][c.Ours] == nil
		})
		if i < 0 {
			rep.Rows = append(rep.Rows, newRow(m, func(c Case, side string) []Sample { return samples[c.Suite][side] }))
		} else {
			rep.Reasons[m.Name] = cmp.Or(needs[m.Cases[i].Suite], "failed")
		}
	}
	return rep, errors.Join(errs...)
}

// runSuite returns the samples of the sides that the measures compare.
func runSuite(
	ctx context.Context, env *Env, s *Suite, measures []Measure, values map[string]float64,
) (samples map[string][]Sample, err error) {
	env.Log("%s: preparing", s.Name)
	open, err := s.Open(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	if open.Close != nil {
		defer func() { err = errors.Join(err, open.Close()) }()
	}
	sides := map[string]Side{}
	for _, m := range measures {
		for _, c := range m.Cases {
			if c.Suite == s {
				sides[c.Peer] = open.Sides[c.Peer]
				sides[c.Ours] = open.Sides[c.Ours]
			}
		}
	}
	start := time.Now()
	rounds := env.Rounds(s.Rounds, s.QuickRounds)
	warmUp := 1
	if s.Cold {
		warmUp = 0
	}
	if samples, err = Interleave(ctx, warmUp, rounds, sides, open.Check); err != nil {
		return nil, err
	}
	if open.After != nil {
		more, err := open.After(ctx)
		if err != nil {
			return samples, err
		}
		maps.Copy(values, more)
	}
	env.Log("%s: %d rounds in %.1f s", s.Name, rounds, time.Since(start).Seconds())
	return samples, nil
}

// Interleave runs the sides in turns and returns their samples by side. The order is reversed from
// round to round. The first warmUp rounds fill caches and do not count. check is called after the
// first round unless it is nil. It is an error if the sums of two sides differ.
func Interleave(
	ctx context.Context, warmUp, rounds int, sides map[string]Side, check func() error,
) (map[string][]Sample, error) {
	order := slices.Sorted(maps.Keys(sides))
	samples := make(map[string][]Sample, len(sides))
	sum := ""
	summedBy := ""
	for round := range warmUp + rounds {
		for _, name := range order {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			s, err := sides[name](ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case s.Sum == "":
			case summedBy == "":
				sum = s.Sum
				summedBy = name
			case s.Sum != sum:
				return nil, fmt.Errorf("%s comes to %s, but %s to %s", name, s.Sum, summedBy, sum)
			}
			if round >= warmUp {
				samples[name] = append(samples[name], s)
			}
		}
		if round == 0 && check != nil {
			if err := check(); err != nil {
				return nil, err
			}
		}
		slices.Reverse(order)
	}
	return samples, nil
}
