package path

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// step is a segment by the number of its operation or span, -1 for idle time.
type step struct {
	Row      int
	From, To int64
}

// whole stands for a path, of which the segments follow.
const whole = -2

func TestCriticalPathOfNothing(t *testing.T) {
	forest := tracetest.AddTo(trace.New(), tracetest.OpAt("a", 1, 0, 0, 10).WithoutStart())
	if p := Of(forest, trace.Node{}); p != nil {
		t.Errorf("path of no node: %+v", p)
	}
	if p := Of(forest, forest.Node(0)); p != nil {
		t.Errorf("path without a start: %+v", p)
	}
}

// naivePaths finds critical paths by the plainest means.
type naivePaths struct {
	*tracetest.NaiveTree
	edges Edges
}

// lastToEnd returns the last to end of those of which something holds, -1 for none.
func (n *naivePaths) lastToEnd(list []int, holds func(tracetest.Spec) bool) int {
	last := -1
	for _, c := range list {
		if s := n.Specs[c]; holds(s) && (last < 0 || s.End > n.Specs[last].End || s.End == n.Specs[last].End && n.CompareStart(c, last) < 0) {
			last = c
		}
	}
	return last
}

// within returns the segments of spec i within [from, to), the last first.
func (n *naivePaths) within(i int, from, to int64) (steps []step) {
	at := to
	left := n.PathChildren(i)
	for {
		last := n.lastToEnd(left, func(s tracetest.Spec) bool {
			return !s.Timeless && min(s.End, to) <= at && max(s.Start, from) < min(s.End, to)
		})
		if last < 0 {
			break
		}
		left = slices.DeleteFunc(left, func(c int) bool { return c == last })
		if n.Parent[last] == i {
			n.edges.Tree++
		} else {
			n.edges.Links++
		}
		begin, end := max(n.Specs[last].Start, from), min(n.Specs[last].End, to)
		if end < at {
			steps = append(steps, step{i, end, at})
		}
		steps = append(steps, n.within(last, begin, end)...)
		at = begin
	}
	if from < at {
		steps = append(steps, step{i, from, at})
	}
	return steps
}

// throughRoots returns the segments within [from, to), the last first: at each nanosecond the root that runs and ends last,
// and its path in each such run of nanoseconds.
func (n *naivePaths) throughRoots(roots []int, from, to int64) (steps []step) {
	latest := func(at int64) int {
		return n.lastToEnd(roots, func(s tracetest.Spec) bool { return s.RunsAt(at) })
	}
	for to > from {
		root, begin := latest(to-1), to-1
		for begin > from && latest(begin-1) == root {
			begin--
		}
		if root < 0 {
			steps = append(steps, step{-1, begin, to})
		} else {
			n.edges.Tree++
			steps = append(steps, n.within(root, begin, to)...)
		}
		to = begin
	}
	return steps
}

// naiveTraces yields the roots of each trace with a critical path, and its time.
func naiveTraces(n *tracetest.NaiveTree, yield func(number byte, roots []int, from, to int64)) {
	for number := byte(1); number < 3; number++ {
		var specs []tracetest.Spec
		roots := n.Roots(number)
		for _, i := range roots {
			specs = append(specs, n.Specs[i])
		}
		if from, to, ok := tracetest.Extent(specs); ok && !n.IsSharedTrace(roots) {
			yield(number, roots, from, to)
		}
	}
}

func TestCriticalPathsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		for i := range specs {
			if specs[i].IsOp {
				specs[i].Service = "" // devices are not told apart by it
			}
		}
		forest, naive := tracetest.AddTo(trace.New(), specs...), naivePaths{NaiveTree: tracetest.NewNaiveTree(specs)}
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		got, want := make(map[op.TraceID][]step), make(map[op.TraceID][]step)
		forest.Build()
		for w, roots := range traceWindows(forest) {
			id := forest.Node(roots[0]).TraceID()
			p := collectPath(forest, w, roots)
			got[id] = []step{{whole, p.StartNS, p.StartNS + p.DurationNS}}
			for _, s := range p.Segments {
				row := -1
				if !s.Node.IsZero() {
					row = s.Node.Index()
				}
				got[id] = append(got[id], step{row, s.StartNS, s.StartNS + s.DurationNS})
			}
		}
		rows, sum, b := []Share{}, Summary{}, BoundBy{}
		classes := map[string]*int64{
			"compute": &b.ComputeNS, "collective": &b.CommunicationNS, "memory": &b.MemoryNS, "io": &b.OtherNS,
			KindHost: &b.HostNS, KindIdle: &b.IdleNS,
		}
		naiveTraces(naive.NaiveTree, func(number byte, roots []int, from, to int64) {
			var steps []step
			if len(roots) == 1 {
				steps = naive.within(roots[0], from, to)
			} else {
				steps = naive.throughRoots(roots, from, to)
			}
			slices.Reverse(steps)
			want[op.TraceID{15: number}] = append([]step{{whole, from, to}}, steps...)
			sum.Paths, sum.DurationNS = sum.Paths+1, sum.DurationNS+to-from
			for _, s := range steps {
				row := Share{Kind: KindIdle}
				if s.Row >= 0 {
					row = Share{Operation: specs[s.Row].Name, Kind: KindHost}
				}
				if s.Row >= 0 && specs[s.Row].IsOp {
					row.Key = specs[s.Row].DeviceKey()
				}
				if s.Row >= 0 && specs[s.Row].DeviceSide() {
					row.Kind = specs[s.Row].Kind.String()
				}
				at := slices.IndexFunc(rows, func(o Share) bool { return o.key() == row })
				if at < 0 {
					at, rows = len(rows), append(rows, row)
				}
				rows[at].TimeNS, rows[at].Segments = rows[at].TimeNS+s.To-s.From, rows[at].Segments+1
				*classes[row.Kind] += s.To - s.From
			}
		})
		sum.BoundBy, sum.Edges = b, naive.edges
		for i := range rows {
			rows[i].Share = float64(rows[i].TimeNS) / float64(sum.DurationNS)
		}
		slices.SortFunc(rows, func(a, b Share) int {
			return cmp.Or(int(b.TimeNS-a.TimeNS), cmp.Compare(a.Operation, b.Operation), a.Key.Compare(b.Key), cmp.Compare(a.Kind, b.Kind))
		})
		all := sumAll(forest)
		check.Equal(t, fmt.Sprintf("seed %d: paths", seed), want, got)
		check.Equal(t, fmt.Sprintf("seed %d: summary", seed), sum, all.Summary())
		check.Equal(t, fmt.Sprintf("seed %d: rows", seed), rows, all.List())
	})
}
