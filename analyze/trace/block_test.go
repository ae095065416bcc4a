package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// Packed blocks hold the values that were written, of any range, before and after single values and columns change.
func TestBlocksKeepAnyValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ranges := []struct{ low, high int64 }{
		{0, 0}, {7, 7}, {-1, 0}, {5, 260}, {-300, 70_000}, {1e18, 1e18 + 1<<32}, {-1 << 50, 1 << 50},
		{math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 3, math.MaxInt64},
	}
	random := func() int64 {
		of := ranges[r.IntN(len(ranges))]
		return of.low + int64(r.Uint64()%max(1, uint64(of.high-of.low)+1))
	}
	for _, n := range []int{1, 2, blockRows - 1, blockRows} {
		var c columns
		var want [numColumns][]int64
		for range n {
			var row row
			for of := range row.values {
				in := ranges[of%len(ranges)]
				row.values[of] = in.low + int64(r.Uint64()%max(1, uint64(in.high-in.low)+1))
				want[of] = append(want[of], row.values[of])
			}
			c.append(&row)
		}
		compare := func(when string) {
			t.Helper()
			c.pack()
			for of := range want {
				got := make([]int64, n)
				for i := range got {
					got[i] = c.number(int32(i), of)
				}
				check.Equal(t, fmt.Sprintf("%d rows, column %d, %s", n, of, when), want[of], got)
			}
		}
		compare("as added")
		for range 200 {
			of, i, v := r.IntN(numColumns), r.IntN(n), random()
			want[of][i] = v
			c.set(int32(i), of, v)
		}
		compare("after set")
		of := r.IntN(numColumns)
		c.change(0, of, func(_ int32, v int64) int64 { return v / 3 })
		for i := range want[of] {
			want[of][i] /= 3
		}
		compare("after change")
		c.append(&row{values: [numColumns]int64{colStart: 5}})
		for of := range want {
			want[of] = append(want[of], 0)
		}
		want[colStart][n] = 5
		n++
		compare("after another row")
	}
}
