package profiler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// What is around an interval is the innermost of those before it that have not ended with one around them and
// last until its end; around a moment it is the innermost that lasts.
func TestEncloseAgainstAllPairs(t *testing.T) {
	cases.Inputs(t, 300, 20000, func(seed uint64, r *rand.Rand) {
		random := func(n int, length int64) []Interval {
			all := make([]Interval, n)
			for i := range all {
				start := r.Int64N(20)
				all[i] = Interval{Thread: r.Uint32N(2), Start: start, End: start + r.Int64N(length+1)}
			}
			return all
		}
		rows, moments := random(r.IntN(12), 10), random(r.IntN(8), 0)
		s := Intervals{N: len(rows), At: func(i int32) Interval { return rows[i] }, InnerFirst: r.IntN(2) == 0}
		others := Intervals{N: len(moments), At: func(i int32) Interval { return moments[i] }}
		parents, around := make([]int32, len(rows)), make([]int32, len(moments))
		order := s.Enclose(&others, func(i, in int32) { parents[i] = in }, func(i, in int32) { around[i] = in })

		want := make([]int32, len(rows))
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(i, j int32) int {
			a, b := rows[i], rows[j]
			last := cmp.Compare(i, j)
			if s.InnerFirst {
				last = -last
			}
			return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), last)
		})
		check.Equal(t, fmt.Sprint(seed, ": order"), want, order)
		// lasting lists the intervals before a place in the order that last at a time, or have one within them that does.
		lasting := func(before int, at Interval) (list []int32) {
			keep := false
			for _, i := range slices.Backward(want[:before]) {
				o := rows[i]
				keep = keep || o.Thread == at.Thread && (o.End > at.Start || o.Start == at.Start)
				if keep && o.Thread == at.Thread {
					list = append(list, i)
				}
			}
			return list
		}
		for n, i := range want {
			parent := int32(-1)
			for _, p := range lasting(n, rows[i]) {
				if rows[p].End >= rows[i].End && rows[p].End > rows[i].Start {
					parent = p
					break
				}
			}
			check.Equal(t, fmt.Sprintf("%d: around %v of %v", seed, rows[i], rows), parent, parents[i])
		}
		for k, m := range moments {
			before := 0
			for before < len(want) && cmp.Or(cmp.Compare(rows[want[before]].Thread, m.Thread), cmp.Compare(rows[want[before]].Start, m.Start)) <= 0 {
				before++
			}
			in := int32(-1)
			if list := lasting(before, m); len(list) > 0 {
				in = list[0]
			}
			check.Equal(t, fmt.Sprintf("%d: around %v of %v", seed, m, rows), in, around[k])
		}
	})
}
