package replay_test

import (
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// A run is simulated twice with the same noise, with and without a cause. The gain of undoing the cause is right if it
// is within a tenth of the difference of the two, or within a hundredth of the run.
func TestServersGainAsASimulationWithoutTheCause(t *testing.T) {
	for _, c := range causes.Servers {
		for _, layout := range causes.ServerLayouts {
			t.Run(c.Name+"/"+string(layout), func(t *testing.T) {
				right, within, all := 0, 0, 0
				var ratios, drifts []float64
				for seed := range cases.Numbers(t, 40) {
					for _, strength := range []float64{0.1, 0.25, 0.5} {
						with, _, ns := causes.Twin(c.Name, layout, strength, seed)
						f := trace.New()
						for _, rec := range with {
							f.Add(rec)
						}
						r, err := replay.New(f).Run(parse(t, c.Change(strength)))
						check.OK(t, err)
						q := r.Requests
						gain := float64(q.SumNS - q.ReplayedSumNS)
						truth := float64(ns[0] - ns[1])
						all++
						isRight := max(gain-truth, truth-gain) <= max(truth/10, float64(q.SumNS)/100)
						isIn := q.LowSumNS <= ns[1] && ns[1] <= q.HighSumNS
						if isRight {
							right++
						}
						if isIn {
							within++
						}
						if !isRight || !isIn {
							t.Logf("seed %d strength %g: sum %d gain %.0f truth %.0f ratio %.3f in %v batches %+v", seed, strength, q.SumNS, gain, truth, gain/truth, isIn, *r.Batches)
						}
						ratios = append(ratios, gain/truth)
						drifts = append(drifts, r.Batches.Drift)
					}
				}
				slices.Sort(ratios)
				slices.Sort(drifts)
				t.Logf("of %d: right %d, within bounds %d; median %.2f of the truth, from %.2f to %.2f; drift %.3f %.3f %.3f", all, right, within,
					ratios[all/2], ratios[all/20], ratios[all-1-all/20], drifts[0], drifts[all/2], drifts[all-1])
			})
		}
	}
}

func TestGainsEqualThoseOfASimulationWithoutTheCause(t *testing.T) {
	for _, c := range causes.Programs {
		for _, layout := range causes.Layouts {
			if c.Name == "item" && layout != causes.Profile {
				continue // it has no calls
			}
			t.Run(c.Name+"/"+string(layout), func(t *testing.T) {
				right, within, all := 0, 0, 0
				var ratios []float64
				for seed := range cases.Numbers(t, 40) {
					for _, strength := range []float64{0.1, 0.25, 0.5} {
						with, _, ns := causes.Twin(c.Name, layout, strength, seed)
						f := trace.New()
						for _, rec := range with {
							f.Add(rec)
						}
						r, err := replay.New(f).Run(parse(t, c.Change(strength)))
						check.OK(t, err)
						gain := float64(r.Run.NS - r.Run.ReplayedNS)
						truth := float64(ns[0] - ns[1])
						all++
						if d := max(gain-truth, truth-gain); d <= truth/10 || d <= float64(r.Run.NS)/100 {
							right++
						}
						if r.Run.LowNS <= ns[1] && ns[1] <= r.Run.HighNS {
							within++
						}
						ratios = append(ratios, gain/truth)
					}
				}
				slices.Sort(ratios)
				t.Logf("of %d: right %d, within bounds %d; median %.2f of the truth, from %.2f to %.2f", all, right, within,
					ratios[all/2], ratios[all/20], ratios[all-1-all/20])
				if 10*right < 9*all {
					t.Errorf("only %d of %d gains are right", right, all)
				}
			})
		}
	}
}
