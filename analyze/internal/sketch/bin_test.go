package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// Every duration lies near the middle of its bin, and a longer one in no bin
// before it.
func TestBins(t *testing.T) {
	verify := func(v int64) {
		t.Helper()
		bin := binOf(v)
		want := float64(max(v, 0))
		if got := binMiddle(bin); math.Abs(got-want) > want/128 {
			t.Errorf("%d is in bin %d, the middle of which is %g", v, bin, got)
		}
		if v < 128 && binMiddle(bin) != want {
			t.Errorf("%d shares the bin %d", v, bin)
		}
		if v < math.MaxInt64 && binOf(v+1) < bin || v > math.MinInt64 && binOf(v-1) > bin {
			t.Errorf("the bins around %d are out of order", v)
		}
	}
	for shift := range 63 {
		for _, near := range []int64{-2, -1, 0, 1, 2} {
			verify(1<<shift + near)
			verify(3<<shift>>1 + near)
		}
	}
	for _, v := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		verify(v)
	}
	cases.Seeds(t, 5, func(_ uint64, r *rand.Rand) {
		for range 1000 {
			verify(r.Int64() >> r.IntN(64))
		}
	})
	check.Equal(t, "the last bin", 57<<binBits+63, binOf(math.MaxInt64))
}
