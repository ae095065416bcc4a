package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// parents returns the name of what each row is below, "-" for nothing.
func parents(forest *Forest) []string {
	forest.build()
	names := make([]string, forest.Len())
	for r := range names {
		names[r] = "-"
		if p := (forest.node(int32(r))).Parent(); !p.IsZero() {
			names[r] = p.Name()
		}
	}
	return names
}

func TestTree(t *testing.T) {
	tests := []struct {
		name    string
		specs   []spec
		parents []string
		want    counts
	}{
		{name: "empty", parents: []string{}},
		{
			name: "C1: operations below spans that are none, children read before their parents",
			specs: []spec{
				opAt("matmul", 3, 2, 20, 40), opAt("relu", 2, 1, 10, 50), spanAt("request", 1, 0, 0, 100),
			},
			parents: []string{"relu", "request", "-"},
			want:    counts{Ops: 2, Spans: 1},
		},
		{
			name: "C2: an operation whose parent was not read is an orphan, a span is not",
			specs: []spec{
				opAt("matmul", 2, 9, 0, 10), spanAt("inner", 3, 9, 0, 10), opAt("relu", 4, 2, 0, 5),
			},
			parents: []string{"-", "-", "matmul"},
			want:    counts{Ops: 2, Spans: 1, Orphans: 1},
		},
		{
			name:    "a parent in another trace is no parent",
			specs:   []spec{spanAt("request", 1, 0, 0, 10).in(2), opAt("matmul", 2, 1, 0, 10)},
			parents: []string{"-", "-"},
			want:    counts{Ops: 1, Spans: 1, Orphans: 1},
		},
		{
			name: "C3: the first of several spans with the same ids is in the tree",
			specs: []spec{
				opAt("first", 1, 0, 0, 10), opAt("second", 1, 3, 0, 20), opAt("third", 1, 0, 0, 10),
				opAt("child", 2, 1, 0, 5), spanAt("request", 3, 0, 0, 30),
			},
			parents: []string{"-", "-", "-", "first", "-"},
			want:    counts{Ops: 4, Spans: 1, Duplicates: 2, Repeated: 1},
		},
		{
			name:    "the same ids in two traces are no duplicates",
			specs:   []spec{opAt("a", 1, 0, 0, 10), opAt("b", 1, 0, 0, 10).in(2)},
			parents: []string{"-", "-"},
			want:    counts{Ops: 2},
		},
		{
			name:    "C4: a span that is its own parent is a root",
			specs:   []spec{opAt("self", 1, 1, 0, 10)},
			parents: []string{"-"},
			want:    counts{Ops: 1, Cycles: 1},
		},
		{
			name: "C4: a ring of parents is broken at the earliest start",
			specs: []spec{
				opAt("a", 1, 3, 20, 30), opAt("b", 2, 1, 10, 40), opAt("c", 3, 2, 30, 50), opAt("below", 4, 3, 0, 1),
			},
			parents: []string{"c", "-", "b", "c"},
			want:    counts{Ops: 4, Cycles: 1},
		},
		{
			name: "C4: rings are broken at a known start",
			specs: []spec{
				opAt("a", 1, 2, 0, 10).withoutStart(), opAt("b", 2, 1, 50, 60), opAt("c", 3, 4, 0, 1), opAt("d", 4, 3, 0, 1),
			},
			parents: []string{"b", "-", "-", "c"},
			want:    counts{Ops: 4, Cycles: 2},
		},
		{
			name: "C6: unknown ids belong together with nothing",
			specs: []spec{
				opAt("a", 0, 0, 0, 10), opAt("b", 0, 0, 0, 10), opAt("c", 1, 0, 0, 10).in(0), opAt("d", 1, 0, 0, 10).in(0),
				opAt("e", 2, 1, 0, 10).in(0),
			},
			parents: []string{"-", "-", "-", "-", "-"},
			want:    counts{Ops: 5, Orphans: 1},
		},
		{
			name: "times that do not fit are no starts",
			specs: []spec{
				{isOp: true, start: -1 << 62, end: -1<<62 + 5}, {isOp: true, start: 1 << 61, end: 1<<62 + 1}, opAt("a", 1, 0, 0, 10),
			},
			parents: []string{"-", "-", "-"},
			want:    counts{Ops: 3, BadTimes: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			forest := addTo(NewForest(), tt.specs...)
			if diff := cmp.Diff(tt.parents, parents(forest)); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, forest.structure()); diff != "" {
				t.Errorf("structure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTreeAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(25))
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		got := forest.structure()
		want := counts{
			Orphans: int64(naive.orphans), Repeated: int64(naive.repeated), Cycles: int64(naive.cycles),
			Ops: got.Ops, Spans: got.Spans, Duplicates: got.Duplicates,
			MissingLinks: int64(naive.missingLinks()),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: structure (-want +got):\n%s", seed, diff)
		}
		for i := range specs {
			n := forest.node(int32(i))
			parent := -1
			if p := n.Parent(); !p.IsZero() {
				parent = int(p.row)
			}
			if parent != naive.parent[i] || n.IsDuplicate() != naive.duplicate[i] {
				t.Errorf("seed %d: span %d is below %d, duplicate %t; want %d, %t",
					seed, i, parent, n.IsDuplicate(), naive.parent[i], naive.duplicate[i])
			}
			var children []int
			for c := range n.Children() {
				children = append(children, int(c.row))
			}
			slices.Sort(children)
			if diff := cmp.Diff(naive.children(i), children); diff != "" {
				t.Errorf("seed %d: children of %d (-want +got):\n%s", seed, i, diff)
			}
		}
	})
}

// Whatever the input says, the tree holds every span once, but for duplicates.
func TestTreeIsComplete(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		forest := addTo(NewForest(), randomSpecs(r, 200)...)
		var pending []Node
		for n := range forest.Roots() {
			pending = append(pending, n)
		}
		visits := make([]int, forest.Len())
		for len(pending) > 0 {
			n := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			visits[n.row]++
			for c := range n.Children() {
				pending = append(pending, c)
			}
		}
		for i, v := range visits {
			want := 1
			if (forest.node(int32(i))).IsDuplicate() {
				want = 0
			}
			if v != want {
				t.Errorf("seed %d: span %d is in the tree %d times, want %d", seed, i, v, want)
			}
		}
	})
}

func TestNode(t *testing.T) {
	forest := addTo(NewForest(),
		spanAt("request", 1, 0, 5, 100).of("api"),
		opAt("matmul", 2, 1, 10, 50).on("cuda:1").onRank(3).fromHost(),
		opAt("relu", 3, 9, 0, 7).withoutStart(),
	)
	forest.build()
	span, matmul, relu := forest.node(0), forest.node(1), forest.node(2)
	type description struct {
		Name, Service string
		Op, Orphan    bool
		Kind          op.Kind
		Side          op.Side
		Device        DeviceKey
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
			Device: DeviceKey{Rank: op.Known(3), DeviceID: "cuda:1"}, Span: op.SpanID{7: 2},
		},
		{
			Name: "relu", Op: true, Orphan: true, Kind: op.KindCompute, Duration: 7,
			Device: DeviceKey{DeviceID: "cuda:0"}, Span: op.SpanID{7: 3},
		},
	}
	if diff := cmp.Diff(want, []description{describe(span), describe(matmul), describe(relu)}); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if span.TraceID() != (op.TraceID{15: 1}) {
		t.Errorf("trace id = %v", span.TraceID())
	}
}
