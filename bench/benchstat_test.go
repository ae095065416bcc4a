package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Medians and p-values of one operation in several runs equal benchstat's, except for equal values
// in unequal numbers of runs: benchstat then assumes a symmetric distribution of U. The change is
// different by design: benchstat compares medians, and diff takes the median of all pairs' ratios.
func TestDiffAgainstBenchstat(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, rng *rand.Rand) {
		ties := rng.IntN(2) == 0
		var ns [2][]float64
		var runs [2][]*diff.Run
		for side := range ns {
			for range 5 + rng.IntN(16) {
				d := int64(1e6 * math.Exp(0.1*rng.NormFloat64()+0.05*float64(side)))
				if ties {
					d -= d % 1e5
				}
				ns[side] = append(ns[side], float64(d))
				runs[side] = append(runs[side], runOf(t, d))
			}
		}
		r := check.Must(diff.Compare(runs[0], runs[1], diff.Options{}))(t)
		got := &r.Rows[0].Comparison
		base := benchmath.NewSample(ns[0], &benchmath.DefaultThresholds)
		head := benchmath.NewSample(ns[1], &benchmath.DefaultThresholds)
		want := benchmath.AssumeNothing.Compare(base, head)
		if uneven := ties && want.N1 != want.N2; !uneven && math.Abs(got.P.V-want.P) > 1e-9 {
			t.Errorf("seed %d, %d and %d runs, ties %v: p is %v, benchstat's %v", seed, want.N1, want.N2, ties, got.P.V,
				want.P)
		}
		for _, m := range []struct {
			ns     float64
			sample *benchmath.Sample
		}{{got.BaseNS.V, base}, {got.HeadNS.V, head}} {
			if center := benchmath.AssumeNothing.Summary(m.sample, 0.95).Center; math.Abs(m.ns/center-1) > 0.01 {
				t.Errorf("seed %d: the median is %v, benchstat's %v", seed, m.ns, center)
			}
		}
	})
}

func runOf(t *testing.T, ns int64) *diff.Run {
	t.Helper()
	report := check.Must(analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
		yield(op.Record{Entry: &op.Entry{Operation: "op", Duration: ns}}, nil)
	}), diff.ReportOptions(nil)))(t)
	return check.Must(diff.NewRun("run", report, nil, false))(t)
}
