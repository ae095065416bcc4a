package kineto

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// tablesOf returns tables with operators and launches.
func tablesOf(ops []hostOp, launches []launch) *tables {
	t := &tables{}
	for _, o := range ops {
		*t.hostOps.add() = o
	}
	for _, l := range launches {
		*t.launches.add() = l
	}
	return t
}

// all returns the rows of a table.
func all[T any](r *rows[T]) []T {
	var list []T
	for i := range int32(r.n) {
		list = append(list, *r.at(i))
	}
	return list
}

// TestEncloseEqualsSearch compares the sweep over launches with looking at
// every operator for each of them, on operators that nest at random.
func TestEncloseEqualsSearch(t *testing.T) {
	for seed := range cases.Numbers(t, 200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var ops []hostOp
		var launches []launch
		var nest func(thread uint32, start, end int64)
		nest = func(thread uint32, start, end int64) {
			for at := start; at < end; {
				length := rnd.Int64N(end-at) + 1
				ops = append(ops, hostOp{thread: thread, start: at, dur: length})
				if length > 2 && rnd.IntN(2) == 0 {
					nest(thread, at, at+length)
				}
				at += length + rnd.Int64N(5)
			}
		}
		for thread := range uint32(3) {
			nest(thread, rnd.Int64N(20), 100)
			for range 20 {
				launches = append(launches, launch{thread: thread + uint32(rnd.IntN(2)), start: rnd.Int64N(120)})
			}
		}
		rnd.Shuffle(len(launches), func(i, j int) { launches[i], launches[j] = launches[j], launches[i] })
		tab := tablesOf(ops, launches)
		tab.enclose()
		for _, l := range all(&tab.launches) {
			if want := innermost(ops, l); want != l.op {
				t.Fatalf("seed %d: launch at %d on thread %d lies in operator %d, want %d", seed, l.start, l.thread, l.op, want)
			}
		}
	}
}

// TestParentsEqualSearch compares the parents that the sweep finds with those that
// looking at every operator finds, on operators that also overlap without nesting.
func TestParentsEqualSearch(t *testing.T) {
	for seed := range cases.Numbers(t, 300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var ops []hostOp
		var launches []launch
		for range rnd.IntN(40) {
			o := hostOp{thread: uint32(rnd.IntN(2)), start: rnd.Int64N(30), dur: rnd.Int64N(12)}
			ops = append(ops, o)
			if rnd.IntN(3) == 0 {
				launches = append(launches, launch{thread: o.thread, start: rnd.Int64N(40)})
			}
		}
		tab := tablesOf(ops, launches)
		tab.enclose()
		for i, o := range all(&tab.hostOps) {
			if want := around(ops, i); o.parent != want {
				t.Fatalf("seed %d: %+v lies within %d, want %d of %+v", seed, o, o.parent, want, ops)
			}
		}
	}
}

// around returns the operator around the i-th one that starts last, of those the
// shortest, and of equals the last in front of it.
func around(ops []hostOp, i int) int32 {
	o, best := ops[i], int32(-1)
	for k, p := range ops {
		same := p.start == o.start && p.dur == o.dur
		if k == i || same && k > i || p.thread != o.thread || p.dur == 0 ||
			p.start > o.start || o.start >= p.start+p.dur || o.start+o.dur > p.start+p.dur {
			continue
		}
		if best < 0 || p.start > ops[best].start || p.start == ops[best].start && p.dur <= ops[best].dur {
			best = int32(k)
		}
	}
	return best
}

// innermost returns the shortest operator around a launch, the last of equals.
func innermost(ops []hostOp, l launch) int32 {
	best := int32(-1)
	for i, o := range ops {
		if o.thread != l.thread || o.start > l.start || o.start+o.dur <= l.start {
			continue
		}
		if best < 0 || o.dur <= ops[best].dur {
			best = int32(i)
		}
	}
	return best
}

func TestLaunchOf(t *testing.T) {
	j := newJoin(tablesOf(nil, []launch{
		{correlation: 5, start: 30}, {correlation: 2, start: 20}, {correlation: 5, start: 10}, {correlation: -1, start: 1},
	}))
	for _, test := range []struct {
		correlation int64
		has         known
		want        int64 // start, 0 for no launch
	}{
		{5, hasCorrelation, 10}, {2, hasCorrelation, 20}, {-1, hasCorrelation, 1},
		{3, hasCorrelation, 0}, {9, hasCorrelation, 0}, {5, 0, 0},
	} {
		got := int64(0)
		if l := j.launchOf(&deviceOp{correlation: test.correlation, has: test.has}); l != nil {
			got = l.start
		}
		check.Equal(t, fmt.Sprintf("correlation %d: launch at", test.correlation), test.want, got)
	}
}

func TestHostOpOf(t *testing.T) {
	j := newJoin(tablesOf([]hostOp{{external: 9}, {external: 4, name: 1}, {external: 4, name: 2}, {external: 0, name: 3}}, nil))
	for _, test := range []struct {
		name string
		d    deviceOp
		want uint32 // name, 9 for no operator
	}{
		{"by external id, the first of equals", deviceOp{external: 4, has: hasExternal}, 1},
		{"beside a correlation id that nothing has", deviceOp{external: 4, correlation: 7, has: hasExternal | hasCorrelation}, 1},
		{"an external id that repeats the correlation id", deviceOp{external: 4, correlation: 4, has: hasExternal | hasCorrelation}, 9},
		{"no external id", deviceOp{}, 9},
		{"an external id that nothing has", deviceOp{external: 5, has: hasExternal}, 9},
	} {
		got := uint32(9)
		if i := j.hostOpOf(&test.d, nil); i >= 0 {
			got = j.hostOps.at(i).name
		}
		check.Equal(t, fmt.Sprintf("%s: operator", test.name), test.want, got)
	}
	check.Equal(t, "the operator around the launch", 2, j.hostOpOf(&deviceOp{}, &launch{op: 2}))
}
