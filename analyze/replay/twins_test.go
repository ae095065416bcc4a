package replay_test

import (
	"math"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// twins compares predictions with simulations. A run is simulated twice with the same noise, with and without a cause.
// The gain of undoing the cause is right if it is within a tenth of the difference of the two, or within a hundredth of
// the run.
func twins(t *testing.T, c causes.Planted, layout causes.Layout, of func(*replay.Result) replay.Times) {
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
				times := of(r)
				gain := float64(times.NS - times.ReplayedNS)
				truth := float64(ns[0] - ns[1])
				all++
				if math.Abs(gain-truth) <= max(truth/10, float64(times.NS)/100) {
					right++
				}
				if times.LowNS <= ns[1] && ns[1] <= times.HighNS {
					within++
				}
				ratios = append(ratios, gain/truth)
			}
		}
		slices.Sort(ratios)
		t.Logf("of %d: right %d, within bounds %d; median %.2f of the truth, from %.2f to %.2f", all, right, within,
			ratios[all/2], ratios[all/20], ratios[all-1-all/20])
		if all-right > max(1, all/10) || all-within > max(1, all/20) {
			t.Error("more than a tenth of the gains are wrong, or more than a twentieth out of bounds")
		}
	})
}

func TestGainsEqualThoseOfASimulationWithoutTheCause(t *testing.T) {
	for _, layout := range causes.Layouts {
		for _, c := range causes.PlantedIn(layout) {
			if c.Change == nil {
				continue
			}
			twins(t, c, layout, func(r *replay.Result) replay.Times { return r.Run })
		}
	}
}

func TestRequestsGainWhatASimulationOfTheServerGains(t *testing.T) {
	for _, layout := range causes.ServerLayouts {
		for _, c := range causes.PlantedIn(layout) {
			if c.Change == nil {
				continue
			}
			twins(t, c, layout, func(r *replay.Result) replay.Times {
				q := r.Requests
				return replay.Times{NS: q.SumNS, ReplayedNS: q.ReplayedSumNS, LowNS: q.LowSumNS, HighNS: q.HighSumNS}
			})
		}
	}
}

func TestEnginesThatShareRequestsKeepTheirBatches(t *testing.T) {
	for _, shared := range []bool{false, true} {
		f := trace.New()
		with, _, _ := causes.Twin("overload", causes.Server, 0.1, 1)
		for i, rec := range with {
			if shared && rec.Span != nil && len(rec.Span.Links) == 8 {
				rec.Span.Service = "decoder"
				for k := range i {
					if e := with[k].Entry; e != nil && e.ParentSpanID == rec.Span.SpanID {
						e.Service = "decoder"
					}
				}
			}
		}
		for _, rec := range with {
			f.Add(rec)
		}
		r, err := replay.New(f).Run(parse(t, "0.5x mlp"))
		check.OK(t, err)
		if n := r.Edges.Execution.Count; n == 0 {
			t.Error("no execution waits for the one before")
		}
		if shared != (r.Batches == nil) {
			t.Errorf("requests of two engines: %v, batches formed again: %+v", shared, r.Batches)
		}
	}
}

// Two engines for the requests of one, in turn, take what simulations of each half take.
func TestReplicasServeTheRequestsInTurn(t *testing.T) {
	var ratios []float64
	for seed := range uint64(6) {
		records, one := causes.Serve("overload", causes.Server, 0.3, seed)
		var two int64
		for half := range 2 {
			var others []int
			for k := 1 - half; k < len(one); k += 2 {
				others = append(others, k)
			}
			_, ns := causes.Serve("overload", causes.Server, 0.3, seed, others...)
			for _, d := range ns {
				two += d
			}
		}
		var all int64
		for _, d := range one {
			all += d
		}
		f := trace.New()
		for _, rec := range records {
			f.Add(rec)
		}
		saved, err := replay.New(f).Saved(true, parse(t, "replicas=2"))
		check.OK(t, err)
		ratios = append(ratios, float64(saved.NS)/float64(all-two))
	}
	slices.Sort(ratios)
	if median := ratios[len(ratios)/2]; median < 0.9 || median > 1.1 {
		t.Errorf("saved %.2f of the truth", ratios)
	}
}
