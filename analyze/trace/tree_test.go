package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// parents returns the name of what each row is below, "-" for nothing.
func parents(forest *Forest) []string {
	forest.Build()
	names := make([]string, forest.Len())
	for r := range names {
		names[r] = "-"
		if p := (forest.Node(int32(r))).Parent(); !p.IsZero() {
			names[r] = p.Name()
		}
	}
	return names
}

func TestTree(t *testing.T) {
	tests := []struct {
		name    string
		specs   []tracetest.Spec
		parents []string
		want    Counts
	}{
		{name: "empty", parents: []string{}},
		{
			name: "C1: operations below spans that are none, children read before their parents",
			specs: []tracetest.Spec{
				tracetest.OpAt("matmul", 3, 2, 20, 40), tracetest.OpAt("relu", 2, 1, 10, 50), tracetest.SpanAt("request", 1, 0, 0, 100),
			},
			parents: []string{"relu", "request", "-"},
			want:    Counts{Ops: 2, Spans: 1},
		},
		{
			name: "C2: an operation whose parent was not read is an orphan, a span is not",
			specs: []tracetest.Spec{
				tracetest.OpAt("matmul", 2, 9, 0, 10), tracetest.SpanAt("inner", 3, 9, 0, 10), tracetest.OpAt("relu", 4, 2, 0, 5),
			},
			parents: []string{"-", "-", "matmul"},
			want:    Counts{Ops: 2, Spans: 1, Orphans: 1},
		},
		{
			name:    "a parent in another trace is no parent",
			specs:   []tracetest.Spec{tracetest.SpanAt("request", 1, 0, 0, 10).In(2), tracetest.OpAt("matmul", 2, 1, 0, 10)},
			parents: []string{"-", "-"},
			want:    Counts{Ops: 1, Spans: 1, Orphans: 1},
		},
		{
			name: "C3: the first of several spans with the same ids is in the tree",
			specs: []tracetest.Spec{
				tracetest.OpAt("first", 1, 0, 0, 10), tracetest.OpAt("second", 1, 3, 0, 20), tracetest.OpAt("third", 1, 0, 0, 10),
				tracetest.OpAt("child", 2, 1, 0, 5), tracetest.SpanAt("request", 3, 0, 0, 30),
			},
			parents: []string{"-", "-", "-", "first", "-"},
			want:    Counts{Ops: 4, Spans: 1, Duplicates: 2, Repeated: 1},
		},
		{
			name:    "the same ids in two traces are no duplicates",
			specs:   []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 10), tracetest.OpAt("b", 1, 0, 0, 10).In(2)},
			parents: []string{"-", "-"},
			want:    Counts{Ops: 2},
		},
		{
			name:    "C4: a span that is its own parent is a root",
			specs:   []tracetest.Spec{tracetest.OpAt("self", 1, 1, 0, 10)},
			parents: []string{"-"},
			want:    Counts{Ops: 1, Cycles: 1},
		},
		{
			name: "C4: a ring of parents is broken at the earliest start",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 3, 20, 30), tracetest.OpAt("b", 2, 1, 10, 40), tracetest.OpAt("c", 3, 2, 30, 50),
				tracetest.OpAt("below", 4, 3, 0, 1),
			},
			parents: []string{"c", "-", "b", "c"},
			want:    Counts{Ops: 4, Cycles: 1},
		},
		{
			name: "C4: rings are broken at a known start",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 2, 0, 10).WithoutStart(), tracetest.OpAt("b", 2, 1, 50, 60), tracetest.OpAt("c", 3, 4, 0, 1),
				tracetest.OpAt("d", 4, 3, 0, 1),
			},
			parents: []string{"b", "-", "-", "c"},
			want:    Counts{Ops: 4, Cycles: 2},
		},
		{
			name: "C6: unknown ids belong together with nothing",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 0, 0, 0, 10), tracetest.OpAt("b", 0, 0, 0, 10), tracetest.OpAt("c", 1, 0, 0, 10).In(0),
				tracetest.OpAt("d", 1, 0, 0, 10).In(0),
				tracetest.OpAt("e", 2, 1, 0, 10).In(0),
			},
			parents: []string{"-", "-", "-", "-", "-"},
			want:    Counts{Ops: 5, Orphans: 1},
		},
		{
			name: "times that do not fit are no starts",
			specs: []tracetest.Spec{
				{IsOp: true, Start: -1 << 62, End: -1<<62 + 5}, {IsOp: true, Start: 1 << 61, End: 1<<62 + 1}, tracetest.OpAt("a", 1, 0, 0, 10),
			},
			parents: []string{"-", "-", "-"},
			want:    Counts{Ops: 3, BadTimes: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			forest := tracetest.AddTo(New(), tt.specs...)
			check.Equal(t, "parents", tt.parents, parents(forest))
			check.Equal(t, "structure", tt.want, forest.Structure())
		})
	}
}

func TestTreeAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest, naive := tracetest.AddTo(New(), specs...), tracetest.NewNaiveTree(specs)
		got := forest.Structure()
		want := Counts{
			Orphans: int64(naive.Orphans), Repeated: int64(naive.Repeated), Cycles: int64(naive.Cycles),
			Ops: got.Ops, Spans: got.Spans, Duplicates: got.Duplicates,
			MissingLinks: int64(naive.MissingLinks()),
		}
		check.Equal(t, fmt.Sprintf("seed %d: structure", seed), want, got)
		for i := range specs {
			n := forest.Node(int32(i))
			parent := -1
			if p := n.Parent(); !p.IsZero() {
				parent = int(p.Row)
			}
			if parent != naive.Parent[i] || n.IsDuplicate() != naive.Duplicate[i] {
				t.Errorf("seed %d: span %d is below %d, duplicate %t; want %d, %t",
					seed, i, parent, n.IsDuplicate(), naive.Parent[i], naive.Duplicate[i])
			}
			var children []int
			for c := range n.Children() {
				children = append(children, int(c.Row))
			}
			slices.Sort(children)
			check.Equal(t, fmt.Sprintf("seed %d: children of %d", seed, i), naive.Children(i), children)
		}
	})
}

// Whatever the input says, the tree holds every span once, but for duplicates.
func TestTreeIsComplete(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		forest := tracetest.AddTo(New(), tracetest.RandomSpecs(r, 200)...)
		var pending []Node
		for n := range forest.Roots() {
			pending = append(pending, n)
		}
		visits := make([]int, forest.Len())
		for len(pending) > 0 {
			n := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			visits[n.Row]++
			for c := range n.Children() {
				pending = append(pending, c)
			}
		}
		for i, v := range visits {
			want := 1
			if (forest.Node(int32(i))).IsDuplicate() {
				want = 0
			}
			check.Equal(t, fmt.Sprintf("seed %d: span %d is in the tree times", seed, i), want, v)
		}
	})
}

func TestNode(t *testing.T) {
	forest := tracetest.AddTo(New(),
		tracetest.SpanAt("request", 1, 0, 5, 100).Of("api"),
		tracetest.OpAt("matmul", 2, 1, 10, 50).On("cuda:1").OnRank(3).FromHost(),
		tracetest.OpAt("relu", 3, 9, 0, 7).WithoutStart(),
	)
	forest.Build()
	span, matmul, relu := forest.Node(0), forest.Node(1), forest.Node(2)
	type description struct {
		Name, Service string
		Op, Orphan    bool
		Kind          op.Kind
		Side          op.Side
		Device        device.Key
		Start         op.Int
		Duration      int64
		Span          op.SpanID
	}
	describe := func(n Node) description {
		return description{
			n.Name(), n.Service(), n.IsOp(), n.IsOrphan(), n.Kind(), n.Side(), n.Device(), n.Start(), n.Duration(), n.SpanID(),
		}
	}
	want := []description{
		{Name: "request", Service: "api", Start: op.Known(5), Duration: 95, Span: op.SpanID{7: 1}},
		{
			Name: "matmul", Op: true, Kind: op.KindCompute, Side: op.SideHost, Start: op.Known(10), Duration: 40,
			Device: device.Key{Rank: op.Known(3), DeviceID: "cuda:1"}, Span: op.SpanID{7: 2},
		},
		{
			Name: "relu", Op: true, Orphan: true, Kind: op.KindCompute, Duration: 7,
			Device: device.Key{DeviceID: "cuda:0"}, Span: op.SpanID{7: 3},
		},
	}
	check.Equal(t, "nodes", want, []description{describe(span), describe(matmul), describe(relu)})
	check.Equal(t, "trace id", op.TraceID{15: 1}, span.TraceID())
}
