package wide

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestSumAgainstBigIntegers(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var sum, squares, products Sum
		wantSum := new(big.Int)
		wantSquares := new(big.Int)
		wantProducts := new(big.Int)
		for range 100 {
			v := r.Int64N(math.MaxInt64) >> r.IntN(63)
			mid := r.Uint64() >> r.IntN(64)
			lo := r.Uint64()
			sum.Add(v)
			squares.AddSquare(v)
			products.AddProduct(mid, lo, v>>8)
			n := big.NewInt(v)
			wantSum.Add(wantSum, n)
			wantSquares.Add(wantSquares, new(big.Int).Mul(n, n))
			factor := Sum{lo: lo, mid: mid}.big()
			wantProducts.Add(wantProducts, factor.Mul(factor, big.NewInt(v>>8)))
		}
		// 192 bits are enough for the sums, and the products wrap around as they do.
		wantProducts.And(wantProducts, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 192), big.NewInt(1)))
		for name, c := range map[string]struct {
			got  Sum
			want *big.Int
		}{"sum": {sum, wantSum}, "squares": {squares, wantSquares}, "products": {products, wantProducts}} {
			if c.got.big().Cmp(c.want) != 0 {
				t.Errorf("seed %d: %s: %v, want %v", seed, name, c.got.big(), c.want)
			}
			want, _ := new(big.Float).SetInt(c.want).Float64()
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, name), want, c.got.Float64())
		}
	})
}

func TestSumInt64(t *testing.T) {
	for _, tc := range []struct {
		values  []int64
		want    int64
		exceeds bool
	}{
		{nil, 0, false},
		{[]int64{1, 2, -5}, 3, false}, // negative values count as 0
		{[]int64{math.MaxInt64}, math.MaxInt64, false},
		{[]int64{math.MaxInt64, 1}, math.MaxInt64, true},
		{[]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, math.MaxInt64, true},
	} {
		var w Sum
		for _, v := range tc.values {
			w.Add(v)
		}
		if w.Int64() != tc.want || w.ExceedsInt64() != tc.exceeds {
			t.Errorf("%d: %d %v, want %d %v", tc.values, w.Int64(), w.ExceedsInt64(), tc.want, tc.exceeds)
		}
	}
}

func TestSampleStd(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []int64
		want   float64
		ok     bool
	}{
		{"none", nil, 0, false},
		{"one", []int64{5}, 0, false},
		{"equal", []int64{7, 7, 7}, 0, true},
		{"by hand", []int64{2, 4, 4, 4, 5, 5, 7, 9}, math.Sqrt(32.0 / 7), true},
		// In floats the squares of these would swallow the difference.
		{"large and close", []int64{1<<61 + 1, 1 << 61, 1<<61 - 1}, 1, true},
	} {
		var sum, squares Sum
		for _, v := range tc.values {
			sum.Add(v)
			squares.AddSquare(v)
		}
		got, ok := SampleStd(sum, squares, int64(len(tc.values)))
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: %g %v, want %g %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}
