package launch

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/op"
)

// Runs of graphs with lost replays have the busy and idle times of the whole run within a twentieth, or unknown ones.
func TestCorrectedTimesAreThoseOfTheWholeRun(t *testing.T) {
	corrected, refused := 0, 0
	cases.Inputs(t, 400, 4000, func(seed uint64, r *rand.Rand) {
		var entries []op.Entry
		nodes, replays := 3+r.IntN(20), 20+r.IntN(60)
		noise := []float64{0, 0.01, 0.05, 0.4}[r.IntN(4)]
		gap := []float64{0.02, 0.2, 1}[r.IntN(3)]
		keep := []float64{0.1, 0.5, 0.9, 1}[r.IntN(4)]
		torn := []float64{0, 0.3}[r.IntN(2)]
		isCut := r.IntN(4) == 0 // no replay is whole
		var calls []op.Entry
		lost, some := int64(0), 0
		at, busy, first, last := int64(1e9), int64(0), int64(math.MaxInt64), int64(0)
		for i := range replays {
			launch := at
			calls = append(calls, op.Entry{Operation: "cudaGraphLaunch", Rank: op.Known(0), Start: op.Known(launch),
				Duration: 5000})
			at += 10_000
			kept := nodes
			if isCut {
				kept -= r.IntN(nodes - 1)
			}
			if torn > r.Float64() {
				kept = r.IntN(nodes)
			}
			if r.Float64() > keep && i > 0 {
				kept = 0
			}
			if kept == 0 {
				lost++
			} else {
				some++
			}
			for n := range nodes {
				d := int64(1e5 * (1 + noise*r.NormFloat64()))
				d = max(d, 1000)
				if n < kept {
					entries = append(entries, op.Entry{Operation: string(rune('a' + n)), Kind: op.KindCompute,
						DeviceID: "cuda:0",
						Rank:     op.Known(0), Start: op.Known(at), Duration: d, Launch: op.Known(launch),
						Attrs: []op.Attr{{Key: "graph id", Value: "3", Type: op.AttrInt}}})
				}
				first, last = min(first, at), max(last, at+d)
				busy += d
				at += d + 500
			}
			at += int64(gap * float64(nodes) * 1e5 * (0.5 + r.Float64()))
		}
		f := forestOf(entries)
		for i := range calls {
			f.AddCall(&calls[i])
		}
		c := CoverageOf(f, map[string]int64{opmodel.LostGraphLaunch: lost}).Corrected
		isWhole := len(entries) == nodes*replays
		switch {
		case some < 6 && len(entries) < some*nodes, some < 2 && noise > 0.01: // nothing tells how a whole one is
		case isWhole && c != nil, lost > 0 && c == nil:
			t.Errorf("seed %d: %d of %d operations: %+v", seed, len(entries), nodes*replays, c)
		case c == nil:
		case c.Refused != "":
			refused++
		default:
			corrected++
			idle := last - first - busy
			near := func(got, want int64) bool { return math.Abs(float64(got-want)) <= 0.05*float64(want) }
			if !near(c.BusyNS, busy) || !near(c.IdleNS, idle) {
				t.Errorf("seed %d: busy %d, want %d; idle %d, want %d", seed, c.BusyNS, busy, c.IdleNS, idle)
			}
		}
	})
	if 5*corrected < refused {
		t.Errorf("%d corrected, %d refused", corrected, refused)
	}
}
