package findings_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A gain states its bounds, and no more than is known.
func TestGainStatesItsBounds(t *testing.T) {
	ns := func(ms int64) op.Int { return op.Known(ms * 1e6) }
	for want, f := range map[string]findings.Finding{
		"":                                  {SavedNS: ns(62), OfNS: ns(92)}, // the text has it
		"at most 62.0 ms (67.4 %)":          {SavedNS: ns(62), OfNS: ns(92), Try: "x"},
		"at most 60.0 ms (65.2 %)":          {SavedNS: ns(31), OfNS: ns(92), SavedLowNS: ns(0), SavedHighNS: ns(60)},
		"10.0 ms (10.9 %), at most 60.0 ms": {SavedNS: ns(10), OfNS: ns(92), SavedLowNS: ns(0), SavedHighNS: ns(60)},
		"58.0 ms (63.0 %), 55.0 to 60.0 ms": {SavedNS: ns(58), OfNS: ns(92), SavedLowNS: ns(55), SavedHighNS: ns(60)},
		"2.00 ms, 900 µs to 3.00 ms":        {SavedNS: ns(2), SavedLowNS: op.Known(900e3), SavedHighNS: ns(3)},
		"58.0 ms":                           {SavedNS: ns(58), SavedLowNS: ns(58), SavedHighNS: ns(58)},
	} {
		check.Equal(t, want, want, f.Gain())
	}
}
