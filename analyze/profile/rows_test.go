package profile

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestEstimates(t *testing.T) {
	report := func(weights ...float64) *Sums {
		p := New(Options{})
		for _, w := range weights {
			p.Add(&op.Entry{Operation: "a", Duration: 100, AdjustedCount: w})
		}
		return p.Sums()
	}
	r := report(2, 4.5)
	if r.Total.EstCount.V != 6.5 || r.Total.EstSumNS.V != 650 || r.Total.Count != 2 {
		t.Errorf("estimates %g and %g", r.Total.EstCount.V, r.Total.EstSumNS.V)
	}
	if r.Operations[0].EstCount.V != 6.5 || r.Operations[0].EstSumNS.V != 650 || r.Operations[0].Count != 2 {
		t.Errorf("estimates of the row: %+v", r.Operations[0].Estimate)
	}
	for _, weights := range [][]float64{{2, 0}, {0, 0}, {}} {
		if r := report(weights...); r.Total.EstCount.Known || len(r.Operations) > 0 && r.Operations[0].EstCount.Known {
			t.Errorf("weights %g: an estimate", weights)
		}
	}
}

func TestSumsBeyond64Bits(t *testing.T) {
	const huge = 1 << 62
	p := New(Options{})
	for range 5 {
		p.Add(&op.Entry{Operation: "a", DeviceID: "d", Duration: huge, MemoryBytes: op.Known(huge)})
	}
	r := p.Sums()
	row := r.Operations[0]
	if row.SumNS != 1<<63-1 || row.MeanNS != huge || row.StdNS.V != 0 || row.MemoryBytes.V != 1<<63-1 {
		t.Errorf("%+v", row)
	}
	check.Equal(t, "rows are saturated", 1, r.Saturated)
}

// Zero options mean the defaults, and negative options mean none.
func TestOptions(t *testing.T) {
	report := func(opts Options) *Sums {
		p := New(opts)
		for _, name := range []string{"a", "b", "c"} {
			p.Add(&op.Entry{Operation: name, MemoryBytes: op.Known(DefaultHotspotBytes)})
		}
		return p.Sums()
	}
	r := report(Options{})
	if len(r.Operations) != 3 || len(r.Slowest) != 3 || r.ThresholdBytes != DefaultHotspotBytes || r.HotspotCount != 0 {
		t.Errorf("%d operations, %d slowest, %d hotspots above %d", len(r.Operations), len(r.Slowest),
			r.HotspotCount, r.ThresholdBytes)
	}
	r = report(Options{MaxGroups: -1, Top: -1, HotspotBytes: -1})
	if len(r.Operations) != 3 || len(r.Slowest) != 0 || r.ThresholdBytes != 0 || r.HotspotCount != 3 {
		t.Errorf("%d operations, %d slowest, %d hotspots above %d", len(r.Operations), len(r.Slowest),
			r.HotspotCount, r.ThresholdBytes)
	}
}
