package processor

import (
	"io"
	"testing"

	"github.com/optrace/optrace/bench/measure"
)

// Without losses everything arrives, round by round.
func TestSides(t *testing.T) {
	want := measure.Want{batchOTLP: true, batchDiscard: true, ours: true, oursOTLP: true, oneDiscard: true, oneOurs: true}
	open, err := openWith(t.Context(), &measure.Env{Progress: io.Discard, Quick: true}, want, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, side := range open.Sides {
		for range 2 {
			if s, err := side(t.Context()); err != nil || s.N != 1000 {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
	}
	if len(open.Sides) != len(want) {
		t.Errorf("%d sides, want %d", len(open.Sides), len(want))
	}
	lost, err := open.After(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, share := range lost {
		if share < 0 || share > 1 || name == "lost_ours" && share != 0 {
			t.Errorf("%s: %v", name, share)
		}
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
}
