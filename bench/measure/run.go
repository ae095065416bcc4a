package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Report is the outcome of all measures.
type Report struct {
	// Results are in the order of the measures, figures without a target among
	// them.
	Results []Result
	// NotRun are the names of those with a target that could not run, in order,
	// and Reasons why, figures included.
	NotRun  []string
	Reasons map[string]string
	// Values are further figures by name.
	Values map[string]float64
}

// Run runs the measures, suite by suite. An error says which suite failed, and
// the report has those that did not: one failure does not spoil the others.
func Run(ctx context.Context, env *Env, measures []Measure) (*Report, error) {
	var errs []error
	rep := &Report{NotRun: []string{}, Reasons: map[string]string{}, Values: map[string]float64{}}
	samples := map[*Suite]map[string][]Sample{}
	for _, m := range measures {
		if _, done := samples[m.Suite]; done {
			continue
		}
		got, missing, err := runSuite(ctx, env, m.Suite, wanted(measures, m.Suite), rep.Values)
		samples[m.Suite] = got
		for _, other := range measures {
			if other.Suite != m.Suite {
				continue
			}
			for _, side := range []string{other.Peer, other.Ours} {
				if need, ok := missing[side]; ok {
					rep.Reasons[other.Name] = need
				}
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Suite.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, m := range measures {
		peer, ours := samples[m.Suite][m.Peer], samples[m.Suite][m.Ours]
		switch {
		case peer != nil && ours != nil:
			rep.Results = append(rep.Results, newResult(m, peer, ours))
		case m.Target > 0:
			rep.NotRun = append(rep.NotRun, m.Name)
		}
		if peer == nil || ours == nil {
			if _, known := rep.Reasons[m.Name]; !known {
				rep.Reasons[m.Name] = "failed"
			}
		}
	}
	return rep, errors.Join(errs...)
}

// wanted returns the sides of s that the measures compare.
func wanted(measures []Measure, s *Suite) Want {
	want := Want{}
	for _, m := range measures {
		if m.Suite == s {
			want[m.Peer], want[m.Ours] = true, true
		}
	}
	return want
}

// runSuite returns the samples of the sides that ran, and what those that did
// not would need.
func runSuite(ctx context.Context, env *Env, s *Suite, want Want, values map[string]float64) (
	samples map[string][]Sample, missing map[string]string, err error,
) {
	env.Log("%s: preparing", s.Name)
	open, err := s.Open(ctx, env, want)
	if unavailable, ok := errors.AsType[*UnavailableError](err); ok {
		missing = map[string]string{}
		for side := range want {
			missing[side] = unavailable.Need
		}
		env.Log("%s: %v", s.Name, err)
		return nil, missing, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("preparing: %w", err)
	}
	if open.Close != nil {
		defer func() { err = errors.Join(err, open.Close()) }()
	}
	sides := maps.Clone(open.Sides)
	maps.DeleteFunc(sides, func(name string, _ Side) bool { return !want[name] })
	start := time.Now()
	rounds := env.Size(s.Rounds, s.QuickRounds)
	warmUp := 1
	if s.Cold {
		warmUp = 0
	}
	if samples, err = interleave(ctx, warmUp, rounds, sides, open.Check); err != nil {
		return nil, open.Missing, err
	}
	if open.After != nil {
		more, err := open.After(ctx)
		if err != nil {
			return samples, open.Missing, err
		}
		maps.Copy(values, more)
	}
	env.Log("%s: %d rounds in %.1f s", s.Name, rounds, time.Since(start).Seconds())
	return samples, open.Missing, nil
}
