package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"time"
)

// Report is the outcome of all measures.
type Report struct {
	// Rows are in the order of the measures, figures without a target among them.
	Rows []Row
	// NotRun are the names of those with a target that could not run, in order,
	// and Reasons why, figures included.
	NotRun  []string
	Reasons map[string]string
	// Values are further figures by name.
	Values map[string]float64
}

// Run runs the measures, suite by suite. An error says which suite failed, and
// the report has all others: one failure does not spoil the others. A
// measure one of whose cases did not run has not run.
func Run(ctx context.Context, env *Env, measures []Measure) (*Report, error) {
	var errs []error
	rep := &Report{NotRun: []string{}, Reasons: map[string]string{}, Values: map[string]float64{}}
	samples, needs := map[*Suite]map[string][]Sample{}, map[*Suite]string{}
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
			continue
		}
		if m.Target > 0 {
			rep.NotRun = append(rep.NotRun, m.Name)
		}
		rep.Reasons[m.Name] = cmp.Or(needs[m.Cases[i].Suite], "failed")
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
	sides := maps.Clone(open.Sides)
	maps.DeleteFunc(sides, func(name string, _ Side) bool {
		return !slices.ContainsFunc(measures, func(m Measure) bool {
			return slices.ContainsFunc(m.Cases, func(c Case) bool { return c.Suite == s && (name == c.Peer || name == c.Ours) })
		})
	})
	start := time.Now()
	rounds, warmUp := env.rounds(s), 1
	if s.Cold {
		warmUp = 0
	}
	if samples, err = interleave(ctx, warmUp, rounds, sides, open.Check); err != nil {
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

// Interleave runs sides in turns; see [Run].
func Interleave(ctx context.Context, warmUp, rounds int, sides map[string]Side) (map[string][]Sample, error) {
	return interleave(ctx, warmUp, rounds, sides, nil)
}

// interleave runs the sides in turns and returns their samples of each round. The
// order is reversed from round to round, so that no side always comes first. The
// first rounds, warmUp of them, do not count: caches fill. check is called after
// the first.
func interleave(ctx context.Context, warmUp, rounds int, sides map[string]Side, check func() error) (map[string][]Sample, error) {
	order := slices.Sorted(maps.Keys(sides))
	samples := make(map[string][]Sample, len(sides))
	sum, summedBy := "", ""
	for round := range warmUp + rounds {
		for _, name := range order {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			var s Sample
			var err error
			// By the label a CPU profile separates the sides.
			pprof.Do(ctx, pprof.Labels("side", name), func(ctx context.Context) { s, err = sides[name](ctx) })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case s.Sum == "":
			case summedBy == "":
				sum, summedBy = s.Sum, name
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
