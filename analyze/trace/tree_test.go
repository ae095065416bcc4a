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

// Times that do not fit are no starts.
func TestBadTimes(t *testing.T) {
	forest := tracetest.AddTo(New(),
		tracetest.Spec{IsOp: true, Start: -1 << 62, End: -1<<62 + 5}, tracetest.Spec{IsOp: true, Start: 1 << 61, End: 1<<62 + 1},
		tracetest.OpAt("a", 1, 0, 0, 10))
	check.Equal(t, "structure", Counts{Ops: 3, BadTimes: 2}, forest.Structure())
}

func TestTreeAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest, naive := tracetest.AddTo(New(), specs...), tracetest.NewNaiveTree(specs)
		got := forest.Structure()
		want := Counts{
			Orphans: int64(naive.Orphans), Repeated: int64(naive.Repeated), Cycles: int64(naive.Cycles), MissingLinks: int64(naive.MissingLinks()),
		}
		for i, s := range specs {
			if s.IsOp {
				want.Ops++
			} else {
				want.Spans++
			}
			if naive.Duplicate[i] {
				want.Duplicates++
			}
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
