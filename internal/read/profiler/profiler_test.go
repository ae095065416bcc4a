package profiler

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// enclose returns the intervals around each interval and around each moment.
func enclose(rows, moments []Interval) (parents, around []int32) {
	s := Intervals{N: len(rows), At: func(i int32) Interval { return rows[i] }}
	others := Intervals{N: len(moments), At: func(i int32) Interval { return moments[i] }}
	parents = make([]int32, len(rows))
	around = make([]int32, len(moments))
	s.Enclose(&others, func(i int32, n Nest) { parents[i] = n.Parent }, func(i, in int32) { around[i] = in })
	return parents, around
}

// overlapping returns up to 39 randomly overlapping intervals of two threads.
func overlapping(r *rand.Rand) []Interval {
	rows := make([]Interval, r.IntN(40))
	for i := range rows {
		start := r.Int64N(30)
		rows[i] = Interval{r.Uint32N(2), start, start + r.Int64N(12)}
	}
	return rows
}

// Around a moment is the interval running then that starts last; of equals the shortest, then the last.
func TestMomentsAgainstSearch(t *testing.T) {
	cases.Inputs(t, 300, 6000, func(seed uint64, r *rand.Rand) {
		rows := overlapping(r)
		moments := make([]Interval, 40)
		for i := range moments {
			at := r.Int64N(45)
			moments[i] = Interval{r.Uint32N(3), at, at}
		}
		_, got := enclose(rows, moments)
		for k, m := range moments {
			want := int32(-1)
			for i, o := range rows {
				if o.Thread != m.Thread || o.Start > m.Start || o.Start < m.Start && o.End <= m.Start {
					continue
				}
				if want < 0 || o.Start > rows[want].Start || o.Start == rows[want].Start && o.End <= rows[want].End {
					want = int32(i)
				}
			}
			check.Equal(t, fmt.Sprintf("%d: around %v of %v", seed, m, rows), want, got[k])
		}
	})
}

// Around an interval is the one lasting from its start to its end that starts last; of equals the shortest, then the
// last in front. This also holds for overlaps without nesting.
func TestParentsAgainstSearch(t *testing.T) {
	cases.Inputs(t, 300, 6000, func(seed uint64, r *rand.Rand) {
		rows := overlapping(r)
		got, _ := enclose(rows, rows[:len(rows)/3])
		for i, o := range rows {
			want := int32(-1)
			for k, p := range rows {
				if k == i || p == o && k > i || p.Thread != o.Thread || p.Start > o.Start || o.Start >= p.End ||
					o.End > p.End {
					continue
				}
				if want < 0 || p.Start > rows[want].Start || p.Start == rows[want].Start && p.End <= rows[want].End {
					want = int32(k)
				}
			}
			check.Equal(t, fmt.Sprintf("%d: around %v of %v", seed, o, rows), want, got[i])
		}
	})
}

// From the innermost interval that is open at a time, Outside leads through all the others that are open then.
func TestOutsideAgainstSearch(t *testing.T) {
	cases.Inputs(t, 300, 6000, func(seed uint64, r *rand.Rand) {
		rows := overlapping(r)
		rows = rows[:min(len(rows), maxAcross)]
		moment := Interval{Start: r.Int64N(45)}
		nests := make([]Nest, len(rows))
		in := int32(-1)
		s := Intervals{N: len(rows), At: func(i int32) Interval { return rows[i] }}
		others := Intervals{N: 1, At: func(int32) Interval { return moment }}
		s.Enclose(&others, func(i int32, n Nest) { nests[i] = n }, func(_, at int32) { in = at })
		got := make(map[int32]bool)
		for ; in >= 0; in = Outside(in, moment.Start, func(i int32) (Nest, int64) { return nests[i], rows[i].End }) {
			got[in] = rows[in].Start < rows[in].End
		}
		maps.DeleteFunc(got, func(_ int32, lasts bool) bool { return !lasts })
		want := make(map[int32]bool)
		for i, o := range rows {
			if o.Thread == moment.Thread && o.Start <= moment.Start && moment.Start < o.End {
				want[int32(i)] = true
			}
		}
		check.Equal(t, fmt.Sprintf("%d: open at %d of %v", seed, moment.Start, rows), want, got)
	})
}

// Ranges that each end a tick after the next one began stand beside one another.
func TestCrossingByATickIsNoNesting(t *testing.T) {
	const n = 1000
	nests := make([]Nest, n+1)
	at := func(i int32) Interval {
		if i == n {
			return Interval{End: 100 * n} // around all
		}
		return Interval{Start: 100 * int64(i), End: 100*int64(i) + 101}
	}
	s := Intervals{N: n + 1, At: at}
	s.Enclose(&Intervals{}, func(i int32, n Nest) { nests[i] = n }, nil)
	of := func(i int32) (Nest, int64) { return nests[i], at(i).End }
	for i := range int32(n - 1) {
		check.Equal(t, fmt.Sprint("outside ", i, " in its middle"), n, Outside(i, 100*int64(i)+50, of))
	}
	check.Equal(t, "outside 7 at its start", 6, Outside(7, 700, of))
}

func TestSymbols(t *testing.T) {
	var s Symbols
	a := s.Add([]byte("a"))
	b := s.Add([]byte("b"))
	again := s.Add([]byte("a"))
	if a == b || a != again || s.Add(nil) != 0 || s.Text(a) != "a" || s.Text(b) != "b" || s.Text(0) != "" {
		t.Errorf("numbers %d %d %d, texts %q", a, b, again, s.texts)
	}
	if !slices.IsSortedFunc(s.texts, cmp.Compare[string]) || s.bytes == 0 {
		t.Errorf("texts %q, %d bytes", s.texts, s.bytes)
	}
}

func TestGapsCountLaunchesWithoutOperation(t *testing.T) {
	ran := Call{Name: "cudaLaunchKernel", Start: 10, Matched: true}
	lost := Call{Name: "cudaLaunchKernel", Start: 20}
	at := func(c Call, start int64) Call { c.Start = start; return c }
	queue := ran // still runs at the start of lost
	queue.End = 30
	begin := Call{Name: "hipStreamBeginCapture"}
	end := Call{Name: "hipStreamEndCapture"}
	one := []op.Gap{{Dropped: 1, Reason: "launch_without_operation"}}
	captured := []op.Gap{{Dropped: 1, Reason: "captured_launch"}}
	for _, test := range []struct {
		name       string
		calls      []Call
		operations bool
		want       []op.Gap
	}{
		{"all ran", []Call{ran, at(ran, 11)}, true, nil},
		{"lost", []Call{ran, lost}, true, one},
		{"operations of other launches only", []Call{lost}, true, nil},
		{"no operation", []Call{lost}, false, one},
		{"a graph", []Call{ran, {Name: "cudaGraphLaunch_ptsz"}}, true,
			[]op.Gap{{Dropped: 1, Reason: "graph_launch_without_operation"}}},
		{"calls that launch no work", []Call{ran, {Name: "cudaLaunchHostFunc"}, {Name: "cudaMemsetAsync"}}, true, nil},
		{"within a capture", []Call{ran, at(end, 21), lost, at(begin, 19)}, true, captured},
		{"behind a capture", []Call{ran, at(end, 19), lost, at(begin, 18)}, true, one},
		{"the recording begins within a capture", []Call{ran, lost, at(end, 21)}, true, captured},
		{"the recording ends within a capture", []Call{ran, lost, at(begin, 19)}, true, captured},
		{"a capture of another process", []Call{ran, lost, {Process: 1, Name: begin.Name}}, true, one},
		{"queued at the end", []Call{queue, lost, at(lost, 40)}, true, nil},
		{"behind the last operation", []Call{queue, at(lost, 40)}, true, one},
		{"in front of a launch that ran", []Call{at(queue, 25), lost}, true, one},
	} {
		var calls Calls
		for _, c := range test.calls {
			calls.Add(c)
		}
		check.Equal(t, test.name, test.want, calls.Gaps(test.operations, 0))
	}
}
