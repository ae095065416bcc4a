package requests

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

type described struct {
	Name      string
	Trace     byte
	ID        uint64
	Start     op.Int
	Duration  op.Int
	Uncovered op.Int
	Queueing  op.Int
	Ops       []string
}

func describe(requests *Requests) []described {
	var rows []described
	for i := range requests.List {
		r := &requests.List[i]
		row := described{
			r.Name, r.TraceID[15], trace.SpanNumber(r.SpanID), r.StartNS, r.DurationNS, r.UncoveredNS, r.QueueingNS,
			tracetest.Names(r.Operations()),
		}
		if r.Ops() != len(row.Ops) {
			panic("Ops and Operations disagree")
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRequestsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(20))
		naive := tracetest.NewNaiveTree(specs)
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		ops := make(map[int][]int)
		for i, s := range specs {
			if naive.Execution[i] >= 0 {
				continue
			}
			if s.IsOp && !naive.Duplicate[i] {
				owner := naive.NaiveOwner(i)
				ops[owner] = append(ops[owner], i)
			}
			if naive.IsLocalRoot(i) && ops[i] == nil {
				ops[i] = []int{}
			}
		}
		for _, e := range naive.Executions {
			for _, owner := range naive.WorksFor[e] {
				if ops[owner] == nil {
					ops[owner] = []int{}
				}
			}
		}
		var unattached []string
		for _, i := range ops[-1] {
			unattached = append(unattached, specs[i].Name)
		}
		delete(ops, -1)

		var want []described
		for owner, list := range ops {
			want = append(want, describeNaive(naive, owner, list))
		}
		requests := Find(tracetest.AddTo(trace.New(), specs...))
		got := describe(requests)
		if !slices.IsSortedFunc(got, func(a, b described) int {
			return cmp.Or(order.Flags(b.Start.Known, a.Start.Known), cmp.Compare(a.Start.V, b.Start.V))
		}) {
			t.Errorf("seed %d: requests are not in the order of their starts: %v", seed, got)
		}
		byIdentity := func(a, b described) int {
			return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name),
				cmp.Compare(a.Start.V, b.Start.V), cmp.Compare(a.Duration.V,
					b.Duration.V), slices.Compare(a.Ops, b.Ops))
		}
		slices.SortFunc(want, byIdentity)
		slices.SortFunc(got, byIdentity)
		check.Equal(t, fmt.Sprintf("seed %d: requests", seed), want, got)
		names := tracetest.Names(requests.Unattached())
		check.Equal(t, fmt.Sprintf("seed %d: unattached operations", seed), unattached, names)
	})
}

func describeNaive(n *tracetest.NaiveTree, owner int, ops []int) described {
	var row described
	for _, o := range ops {
		row.Ops = append(row.Ops, n.Specs[o].Name)
	}
	ops = append(slices.Clip(ops), n.SharedOps(owner)...)
	if owner >= len(n.Specs) {
		s := n.Specs[owner-len(n.Specs)]
		row.Name = s.Root
		row.Trace = s.Trace
		row.ID = s.RootID
		return row
	}
	s := n.Specs[owner]
	row.Name = s.Name
	row.Trace = s.Trace
	row.ID = s.ID
	row.Start = s.StartTime()
	row.Duration = op.Known(s.End - s.Start)
	if s.Timeless {
		return row
	}
	row.Uncovered = op.Known(0)
	for at := s.Start; at < s.End; at++ {
		if !slices.ContainsFunc(ops, func(o int) bool { return n.Specs[o].RunsAt(at) }) {
			row.Uncovered.V++
		}
	}
	for _, o := range ops {
		if n.Specs[o].Timeless {
			continue
		}
		queueing := min(max(0, n.Specs[o].Start-s.Start), s.End-s.Start)
		if !row.Queueing.Known || queueing < row.Queueing.V {
			row.Queueing = op.Known(queueing)
		}
	}
	return row
}

// The operations of a request are in the group of its name, the operations of a shared execution in the execution's.
func TestRequestsAgreeWithGroupsByRoot(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		forest := trace.New()
		forest.GroupBy(tracetest.Keys("kind,root"))
		for _, s := range specs {
			s.Root = ""
			s.RootID = 0
			forest.Add(s.Record())
		}
		forest.FillGroups()
		requests := Find(forest)
		for i := range requests.List {
			for n := range requests.List[i].Operations() {
				values := key.Decode(forest.Names.Groups.Values[forest.Group(n.Row)], forest.By)
				if values[1].Text != requests.List[i].Name {
					t.Errorf("seed %d: %s is in the group %q, its request is %q",
						seed, n.Name(), values[1], requests.List[i].Name)
				}
			}
		}
	})
}

func BenchmarkFindRequests(b *testing.B) {
	forest := tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...)
	forest.Build()
	b.ReportAllocs()
	for b.Loop() {
		Find(forest)
	}
}
