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

// step is a segment by the index of its spec, -1 for idle time.
type step struct {
	Row      int
	From, To int64
}

// whole marks the step for a whole path, followed by its segments.
const whole = -2

func TestCriticalPathOfNothing(t *testing.T) {
	forest := tracetest.AddTo(trace.New(), tracetest.OpAt("a", 1, 0, 0, 10).WithoutStart())
	check.Equal(t, "path of no node", (*Path)(nil), Of(forest, trace.Node{}))
	check.Equal(t, "path without a start", (*Path)(nil), Of(forest, forest.Node(0)))
}

// naivePaths finds critical paths naively.
type naivePaths struct {
	*tracetest.NaiveTree
	edges Edges
}

// lastToEnd returns the last to end among the specs that satisfy holds, -1 if there is no such spec.
func (n *naivePaths) lastToEnd(list []int, holds func(tracetest.Spec) bool) int {
	last := -1
	for _, c := range list {
		s := n.Specs[c]
		if !holds(s) {
			continue
		}
		if last < 0 || s.End > n.Specs[last].End || s.End == n.Specs[last].End && n.CompareStart(c, last) < 0 {
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

// throughRoots returns the segments within [from, to), the last first. At each nanosecond the path is in the running
// root that ends last.
func (n *naivePaths) throughRoots(roots []int, from, to int64) (steps []step) {
	latest := func(at int64) int {
		return n.lastToEnd(roots, func(s tracetest.Spec) bool { return s.RunsAt(at) })
	}
	for to > from {
		begin := to - 1
		root := latest(begin)
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

// naiveTraces yields the roots and the extent of each trace with a critical path.
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
		naive := naivePaths{NaiveTree: tracetest.NewNaiveTree(specs)}
		forest := tracetest.AddTo(trace.New(), specs...)
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		got := make(map[op.TraceID][]step)
		want := make(map[op.TraceID][]step)
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
		var sum Summary
		var b BoundBy
		rows := []Share{}
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
			sum.Paths++
			sum.DurationNS += to - from
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
					at = len(rows)
					rows = append(rows, row)
				}
				rows[at].TimeNS += s.To - s.From
				rows[at].Segments++
				*classes[row.Kind] += s.To - s.From
			}
		})
		sum.BoundBy = b
		sum.Edges = naive.edges
		for i := range rows {
			rows[i].Share = float64(rows[i].TimeNS) / float64(sum.DurationNS)
		}
		slices.SortFunc(rows, func(a, b Share) int {
			return cmp.Or(
				int(b.TimeNS-a.TimeNS), cmp.Compare(a.Operation, b.Operation), a.Key.Compare(b.Key),
				cmp.Compare(a.Kind, b.Kind),
			)
		})
		all := sumAll(forest)
		check.Equal(t, fmt.Sprintf("seed %d: paths", seed), want, got)
		check.Equal(t, fmt.Sprintf("seed %d: summary", seed), sum, all.Summary())
		check.Equal(t, fmt.Sprintf("seed %d: rows", seed), rows, all.List())
	})
}
