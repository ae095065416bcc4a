package path

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// naiveSchedule is a naive schedule: every node looks at all others.
type naiveSchedule struct {
	*tracetest.NaiveTree
	nodes   []*naiveNode
	without func(tracetest.Spec) bool // the operations without duration
	joins   map[int]int               // the collective of each spec
	inner   bool                      // within an execution
}

type naiveNode struct {
	spec, parent int // -1 for none
	from, to     int64
	closed       bool
	begun, ended *int64
}

func (s *naiveSchedule) build(spec int, children []int, from, to int64) {
	s.nodes = []*naiveNode{{spec: spec, parent: -1, from: from, to: to}}
	for i := 0; i < len(s.nodes); i++ {
		p := s.nodes[i]
		if p.closed {
			continue
		}
		if i > 0 || spec >= 0 {
			children = s.PathChildren(p.spec)
		}
		for _, c := range children {
			n := &naiveNode{spec: c, parent: i, from: max(s.Specs[c].Start, p.from), to: min(s.Specs[c].End, p.to)}
			n.closed = p.spec >= 0 && s.Parent[c] != p.spec
			if !s.Specs[c].Timeless && n.from < n.to {
				s.nodes = append(s.nodes, n)
			}
		}
	}
}

// lane returns the queue of a node. ok is false without one.
func (s *naiveSchedule) lane(n *naiveNode) (of [2]any, ok bool) {
	if n.spec < 0 || n.closed || !s.Specs[n.spec].DeviceSide() || s.Specs[n.spec].Device == "" {
		return of, false
	}
	return [2]any{s.Specs[n.spec].DeviceKey(), s.Specs[n.spec].Stream}, true
}

func (s *naiveSchedule) isOut(n *naiveNode) bool {
	return n.spec >= 0 && !n.closed && s.Specs[n.spec].DeviceSide() && s.without(s.Specs[n.spec])
}

func (s *naiveSchedule) begin(i int) int64 {
	n := s.nodes[i]
	if n.begun != nil {
		return *n.begun
	}
	at := n.from
	mine, onLane := s.lane(n)
	if n.parent >= 0 {
		p := s.nodes[n.parent]
		at = s.begin(n.parent)
		var before []int
		for k, o := range s.nodes {
			if k != i && o.parent == n.parent && o.to <= n.from {
				before = append(before, k)
			}
		}
		behind := p.from
		last := -1
		if len(before) > 0 {
			last = slices.MinFunc(before, func(a, b int) int {
				x, y := s.nodes[a], s.nodes[b]
				v, w := s.Specs[x.spec], s.Specs[y.spec]
				return cmp.Or(
					cmp.Compare(y.to, x.to), cmp.Compare(w.End, v.End), cmp.Compare(v.Start, w.Start),
					cmp.Compare(x.spec, y.spec),
				)
			})
			behind = s.nodes[last].to
		}
		lag := n.from - behind
		if s.isOut(p) {
			lag = 0
		}
		if last < 0 {
			at += lag
		}
		for _, k := range before {
			if _, other := s.lane(s.nodes[k]); k == last || !other || !onLane {
				at = max(at, s.end(k)+lag)
			}
		}
	}
	for k, o := range s.nodes {
		if lane, ok := s.lane(o); onLane && k != i && ok && lane == mine && o.to <= n.from {
			at = max(at, s.end(k))
		}
	}
	n.begun = &at
	return at
}

func (s *naiveSchedule) end(i int) int64 {
	n := s.nodes[i]
	if n.ended != nil {
		return *n.ended
	}
	at := s.begin(i)
	after := n.from
	leaf := true
	for k, o := range s.nodes {
		if o.parent == i {
			at = max(at, s.end(k))
			after = max(after, o.to)
			leaf = false
		}
	}
	if number, ok := s.joins[n.spec]; ok && leaf && !n.closed {
		var parts []int
		latest := n.from
		for k, o := range s.nodes {
			if other, ok := s.joins[o.spec]; ok && other == number && !o.closed {
				parts = append(parts, k)
				latest = max(latest, o.from)
			}
		}
		if latest < n.to {
			after = latest
			for _, k := range parts {
				at = max(at, s.begin(k))
			}
		}
	}
	if !s.isOut(n) {
		at += n.to - after
	}
	if n.closed && !s.inner && n.from == s.Specs[n.spec].Start && n.to == s.Specs[n.spec].End {
		within := naiveSchedule{NaiveTree: s.NaiveTree, without: s.without, joins: s.joins, inner: true}
		within.build(n.spec, nil, n.from, n.to)
		at -= n.to - n.from - (within.end(0) - n.from)
	}
	n.ended = &at
	return at
}

// naiveJoins returns the collective of each spec as a number: the k-th of a name on each device, if at least two
// devices have a k-th.
func naiveJoins(n *tracetest.NaiveTree) map[int]int {
	joins := make(map[int]int)
	meet := func(i int) (place string, ok bool) {
		k := 0
		s := n.Specs[i]
		if s.Kind != op.KindCollective || !s.DeviceSide() || n.Repeat[i] {
			return "", false
		}
		for j, o := range n.Specs {
			same := o.Kind == s.Kind && o.DeviceSide() && !n.Repeat[j] && o.Name == s.Name &&
				o.DeviceKey() == s.DeviceKey()
			if same && n.CompareStart(j, i) < 0 {
				k++
			}
		}
		return fmt.Sprint(s.Name, "#", k), true
	}
	for i := range n.Specs {
		for j := range i {
			mine, ok := meet(i)
			if other, also := meet(j); ok && also && mine == other {
				joins[j] = j
				joins[i] = j
				break
			}
		}
	}
	return joins
}

// naiveDrag returns the time that all traces save without some operations.
func naiveDrag(t *testing.T, naive *tracetest.NaiveTree, joins map[int]int, without func(tracetest.Spec) bool) int64 {
	t.Helper()
	saved := int64(0)
	naiveTraces(naive, func(_ byte, roots []int, from, to int64) {
		if from == to {
			return
		}
		root := -1
		if len(roots) == 1 {
			root = roots[0]
		}
		none := func(tracetest.Spec) bool { return false }
		whole := naiveSchedule{NaiveTree: naive, without: none, joins: joins}
		whole.build(root, roots, from, to)
		for i, n := range whole.nodes {
			check.Equal(t, "times with everything", [2]int64{n.from, n.to}, [2]int64{whole.begin(i), whole.end(i)})
		}
		s := naiveSchedule{NaiveTree: naive, without: without, joins: joins}
		s.build(root, roots, from, to)
		saved += to - s.end(0)
	})
	return saved
}

// checkDrag compares drags with the naive ones, and returns the edges of the paths and the sum of the drags.
func checkDrag(t *testing.T, name string, specs []tracetest.Spec) (edges Edges, dragged int64) {
	t.Helper()
	naive := tracetest.NewNaiveTree(specs)
	forest := tracetest.AddTo(trace.New(), specs...)
	if !naive.FindExecutions() {
		return edges, 0 // links in a circle
	}
	joins := naiveJoins(naive)
	sum := sumAll(forest)
	shares := sum.List()
	operations := operationsOf(shares)
	addDrag(sum, shares, operations, collective.FindJoins(forest))
	for _, row := range operations {
		if !row.DragNS.Known {
			continue
		}
		want := naiveDrag(t, naive, joins, func(s tracetest.Spec) bool { return s.Name == row.Operation })
		check.Equal(t, fmt.Sprintf("%s: drag of %s", name, row.Operation), want, row.DragNS.V)
		dragged += want
	}
	for _, row := range shares {
		if !row.DragNS.Known || row.Key.Service+row.Key.Host != "" { // naiveDrag ignores both
			continue
		}
		want := naiveDrag(t, naive, joins, func(s tracetest.Spec) bool {
			return s.Name == row.Operation && s.Kind.String() == row.Kind && s.DeviceKey() == row.Key
		})
		check.Equal(t, fmt.Sprintf("%s: drag of %s on %v", name, row.Operation, row.Key), want, row.DragNS.V)
	}
	return sum.edges, dragged
}

func TestDragAgainstNaive(t *testing.T) {
	var dragged, joined, stream, links int64
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		for i := range specs {
			if r.IntN(2) == 0 {
				specs[i].Stream = op.Known(r.Int64N(2))
			}
			if s := &specs[i]; seed%2 == 1 && r.IntN(2) == 0 { // on two devices, and below few
				*s = s.As(op.KindCollective).On(fmt.Sprint("fpga:", r.IntN(2))).In(1).OnRank(0)
				s.Name = "all_reduce"
				s.IsOp = true
				s.Side = op.SideNone
				s.Parent %= 3
			}
		}
		edges, saved := checkDrag(t, fmt.Sprint("seed ", seed), specs)
		dragged += saved
		joined += edges.Collective
		stream += edges.Stream
		links += edges.Links
	})
	if cases.All() && (dragged == 0 || joined == 0 || stream == 0 || links == 0) {
		t.Errorf("too few cases: drag %d, edges of collectives %d, streams %d, links %d", dragged, joined,
			stream, links)
	}
}

func BenchmarkPathsWithDrag(b *testing.B) {
	forest := tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...)
	forest.Build()
	b.ReportAllocs()
	for b.Loop() {
		Figures(forest, func() *collective.Joins { return collective.FindJoins(forest) }, 100)
	}
}
