package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{3}, 3},
		{[]float64{4, 2}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{1, 100, 2, 3}, 2.5},
	} {
		before := append([]float64(nil), tt.values...)
		if diff := cmp.Diff(tt.want, Median(tt.values), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("Median(%v) (-want +got):\n%s", tt.values, diff)
		}
		if diff := cmp.Diff(before, tt.values, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Median changed its argument (-before +after):\n%s", diff)
		}
	}
}
