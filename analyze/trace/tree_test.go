package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Times out of range are unknown starts.
func TestBadTimes(t *testing.T) {
	forest := tracetest.AddTo(New(),
		tracetest.Spec{IsOp: true, Start: -1 << 62, End: -1<<62 + 5},
		tracetest.Spec{IsOp: true, Start: 1 << 61, End: 1<<62 + 1},
		tracetest.OpAt("a", 1, 0, 0, 10))
	check.Equal(t, "structure", Counts{Ops: 3, BadTimes: 2}, forest.Structure())
}

func TestTreeAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		forest := tracetest.AddTo(New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		counts := Counts{
			Orphans: int64(naive.Orphans), Repeated: int64(naive.Repeated), Cycles: int64(naive.Cycles),
			MissingLinks: int64(naive.MissingLinks()),
		}
		for i, s := range specs {
			if s.IsOp {
				counts.Ops++
			} else {
				counts.Spans++
			}
			if naive.Duplicate[i] {
				counts.Duplicates++
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: structure", seed), counts, forest.Structure())
		for i, s := range specs {
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
			check.Equal(t, fmt.Sprintf("seed %d: operation %d (%+v) is launched by", seed, i, s), naive.Launcher(i),
				int(forest.Launcher(n.Row)))
			if s.DeviceSide() {
				check.Equal(t, fmt.Sprintf("seed %d: operation %d is launched by", seed, i), naive.LauncherName(i),
					forest.LauncherName(n.Row))
			}
		}
		var roots []int
		for n := range forest.Roots() {
			roots = append(roots, int(n.Row))
		}
		slices.Sort(roots)
		want := slices.Concat(naive.Roots(0), naive.Roots(1), naive.Roots(2))
		slices.Sort(want)
		check.Equal(t, fmt.Sprintf("seed %d: roots", seed), want, roots)
	})
}

func TestNodeDescribesRow(t *testing.T) {
	forest := tracetest.AddTo(New(),
		tracetest.SpanAt("request", 1, 0, 5, 100).Of("api"),
		tracetest.OpAt("matmul", 2, 1, 10, 50).On("cuda:1").OnRank(3).FromHost(),
		tracetest.OpAt("relu", 3, 9, 0, 7).WithoutStart(),
	)
	var got []string
	for n := range forest.Nodes() {
		got = append(got,
			fmt.Sprintf("%s of %q: op %t, orphan %t, %v, host %t, on %q at %v for %d ns, trace %s, span %s", n.Name(), n.Service(),
				n.IsOp(), n.IsOrphan(), n.Kind(), n.Side() == op.SideHost, n.Device().Label(true), n.Start(),
				n.Duration(), n.TraceID(), n.SpanID()))
	}
	in := "trace 00000000000000000000000000000001, span 000000000000000"
	check.Equal(t, "nodes", []string{
		`request of "api": op false, orphan false, , host false, on "" at 5 for 95 ns, ` + in + "1",
		`matmul of "": op true, orphan false, compute, host true, on "3/cuda:1" at 10 for 40 ns, ` + in + "2",
		`relu of "": op true, orphan true, compute, host false, on "cuda:0" at unknown for 7 ns, ` + in + "3",
	}, got)
}

// Distinct shapes and element types get distinct numbers. Empty differs from unknown.
func TestVarieties(t *testing.T) {
	var table Varieties
	dims := op.Shape{op.Dynamic, 784}
	all := []Variety{
		{},
		{DType: op.F32},
		{InputDTypes: []op.DType{}},
		{InputDTypes: []op.DType{op.F32, "", "odd"}},
		{InputShapes: []op.Shape{}},
		{InputShapes: []op.Shape{{}, nil, dims}, OutputShape: op.Shape{}, DType: op.BF16,
			InputDTypes: []op.DType{op.I64}},
		{OutputShape: op.Shape{1 << 40}},
	}
	for i, v := range append(all, all...) {
		check.Equal(t, fmt.Sprintf("number of %+v", v), int32(i%len(all)), table.id(v))
	}
	dims[1] = 5 // readers reuse memory
	all[5].InputShapes = []op.Shape{{}, nil, {op.Dynamic, 784}}
	check.Equal(t, "values", all, table.Values)
}

// A service that a request calls is a part of the request, by its remote parent, the root that its operations name, or its
// name alone. Several calls of a session remain requests, other than calls at the same time.
func TestJoinServices(t *testing.T) {
	call := func(id uint64) tracetest.Spec {
		s := tracetest.SpanAt("generate", id, 1, int64(20*id), int64(20*id)+15).Of("engine")
		s.Remote = true
		return s
	}
	root := tracetest.SpanAt("POST", 1, 0, 0, 100).Of("gateway")
	one := []tracetest.Spec{root, call(2), tracetest.OpAt("mlp", 9, 2, 20, 80)}
	for n, want := range map[int][]int32{0: {0, 0, 0}, 1: {0, 1, 1, 3}} {
		specs := one
		if n > 0 {
			specs = append(specs, call(3))
		}
		for _, by := range []string{"parent", "service", "root"} {
			if by != "parent" {
				specs = slices.Clone(specs)
				for i := range specs {
					specs[i].Remote = false
				}
			}
			if by == "root" {
				specs[2].Root = "generate"
				specs[2].RootID = 2
				if n > 0 {
					specs = append(specs, tracetest.OpAt("mlp", 10, 3, 20, 80))
					specs[4].Root = "generate"
					specs[4].RootID = 3
					want = append(want, 3)
				}
			}
			forest := tracetest.AddTo(New(), specs...)
			forest.JoinServices()
			check.Equal(t, "requests by "+by, want, forest.RequestOwners())
			if n > 0 && by == "service" {
				beside := slices.Clone(specs)
				beside[3].Start = beside[1].Start
				forest = tracetest.AddTo(New(), beside...)
				forest.JoinServices()
				check.Equal(t, "calls at the same time", []int32{0, 0, 0, 0}, forest.RequestOwners())
			}
		}
	}
}

// Without a rank the service and the host name the process, also of operations without a device.
func TestProcessesByServiceAndHost(t *testing.T) {
	f := New()
	for _, e := range []op.Entry{
		{Operation: "matmul", DeviceID: "cuda:0", Host: "a"}, {Operation: "load", Side: op.SideHost, Host: "a"},
		{Operation: "matmul", DeviceID: "cuda:0", Host: "b"}, {Operation: "load", Side: op.SideHost, Host: "b"},
	} {
		e.Service = "train"
		f.Add(op.Record{Entry: &e})
	}
	f.Build()
	processes := f.Processes()
	var of []int32
	for r := range f.Rows() {
		of = append(of, processes[f.Lane(r)])
	}
	check.Equal(t, "process", []bool{true, true, false}, []bool{of[0] == of[1], of[2] == of[3], of[0] == of[2]})
}
