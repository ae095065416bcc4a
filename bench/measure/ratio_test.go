package measure

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/internal/check"
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
		check.Equal(t, fmt.Sprintf("Median(%v)", tt.values), tt.want, Median(tt.values), cmpopts.EquateNaNs())
		check.Equal(t, "the argument of Median", before, tt.values, cmpopts.EquateEmpty())
	}
}
