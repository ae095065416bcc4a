package stepping

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

func plain(t *testing.T) backends.Backend {
	t.Helper()
	b, err := simplego.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// program is a graph of three inputs.
type program func(x, w, images *graph.Node) []*graph.Node

// copies is the program whose outputs are inputs and constants, so that they are copied.
const copies = "outputs that nothing computes"

// programs are graphs that put the backend to the test.
var programs = map[string]program{
	"a layer": func(x, w, _ *graph.Node) []*graph.Node {
		return []*graph.Node{graph.Tanh(graph.AddScalar(graph.Dot(x, w), 1))}
	},
	"gradients": func(x, w, _ *graph.Node) []*graph.Node {
		return graph.Gradient(graph.ReduceAllSum(graph.Softmax(graph.Sin(graph.Dot(x, w)))), x, w)
	},
	"one operand twice, and one used again": func(x, _, _ *graph.Node) []*graph.Node {
		y := graph.Exp(x)
		z := graph.Mul(y, y)
		return []*graph.Node{graph.Sub(z, y)}
	},
	"an output that others need": func(x, _, _ *graph.Node) []*graph.Node {
		y := graph.Neg(x)
		return []*graph.Node{y, graph.Abs(y), graph.Exp(graph.Neg(y))}
	},
	copies: func(x, _, _ *graph.Node) []*graph.Node {
		return []*graph.Node{x, x, graph.Const(x.Graph(), []float32{1, 2})}
	},
	"an operation that nothing needs": func(x, w, _ *graph.Node) []*graph.Node {
		graph.Dot(x, w)
		return []*graph.Node{graph.Reshape(x, -1)}
	},
	"several outputs": func(x, _, _ *graph.Node) []*graph.Node {
		state := graph.Const(x.Graph(), []uint64{1, 2, 3})
		next, numbers := graph.RandomUniform(state, shapes.Make(dtypes.Float32, 5))
		return []*graph.Node{next, numbers, graph.ArgMax(x, -1)}
	},
	"no operand": func(x, _, _ *graph.Node) []*graph.Node {
		return []*graph.Node{graph.Iota(x.Graph(), shapes.Make(dtypes.Int32, 3, 2), 1)}
	},
	"other types": func(x, _, _ *graph.Node) []*graph.Node {
		positive := graph.GreaterThan(x, graph.ScalarZero(x.Graph(), dtypes.Float32))
		return []*graph.Node{graph.Where(positive, x, graph.ZerosLike(x)), graph.ConvertDType(positive, dtypes.Int64)}
	},
	"a convolution": func(_, _, images *graph.Node) []*graph.Node {
		kernel := graph.AddScalar(graph.IotaFull(images.Graph(), shapes.Make(dtypes.Float32, 3, 3, 2, 5)), -40)
		return []*graph.Node{graph.Convolve(images, kernel).PadSame().Strides(2).Done()}
	},
	"a list of operands": func(x, _, _ *graph.Node) []*graph.Node {
		return []*graph.Node{graph.Concatenate([]*graph.Node{x, graph.Neg(x), x}, 0), graph.Einsum("ab,cb->ac", x, x)}
	},
}

// inputs returns inputs for a program.
func inputs() (x, w, images *tensors.Tensor) {
	numbers := func(dims ...int) *tensors.Tensor {
		flat := make([]float32, shapes.Make(dtypes.Float32, dims...).Size())
		for i := range flat {
			flat[i] = float32((i*7)%13)/4 - 1.5
		}
		return tensors.FromFlatDataAndDimensions(flat, dims...)
	}
	return numbers(4, 3), numbers(3, 2), numbers(2, 6, 6, 2)
}

// execute runs a program twice on a backend and returns the outputs of the second time.
func execute(t *testing.T, b backends.Backend, p program) (outputs []any) {
	t.Helper()
	outputs, _ = executeWithGraph(t, b, p)
	return outputs
}

// executeWithGraph is execute. It also returns what the graph says of its operations.
func executeWithGraph(t *testing.T, b backends.Backend, p program) (outputs []any, operations []described) {
	t.Helper()
	var built []*graph.Node
	exec, err := graph.NewExec(b, func(in []*graph.Node) []*graph.Node {
		built = p(in[0], in[1], in[2])
		return slices.Clone(built)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	x, w, images := inputs()
	for range 2 {
		results, g, err := exec.ExecWithGraph(x, w, images)
		if err != nil {
			t.Fatal(err)
		}
		operations = nodes(g, built)
		outputs = nil
		for _, r := range results {
			outputs = append(outputs, r.Value())
		}
	}
	return outputs, operations
}

// TestResultsAreThoseOfTheBackendBelow compares every bit: the same kernels get the same values.
func TestResultsAreThoseOfTheBackendBelow(t *testing.T) {
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			want := execute(t, plain(t), p)
			got := execute(t, New(plain(t), nil, ""), p)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outputs (-plain +stepping):\n%s", diff)
			}
		})
	}
}

// record returns the operations that f has recorded, in the order in which they began. The file may
// have them in another one.
func record(t *testing.T, f func(*optrace.Tracer)) (entries []*op.Entry) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ops.jsonl")
	sdk, err := optrace.Setup(file)
	if err != nil {
		t.Fatal(err)
	}
	f(sdk.Tracer())
	if err := sdk.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for rec, err := range ingest.Open(file).Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil {
			entries = append(entries, rec.Entry.Clone())
		}
	}
	slices.SortStableFunc(entries, func(a, b *op.Entry) int { return int(a.Start.V - b.Start.V) })
	return entries
}

// described is what the graph and the recording both say of an operation.
type described struct {
	Name   string
	Inputs []op.Shape
	Output op.Shape
	DType  op.DType
}

// TestRecordedIsWhatTheGraphSays compares the operations with the nodes of the graph, in order.
func TestRecordedIsWhatTheGraphSays(t *testing.T) {
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			var want []described
			entries := record(t, func(tracer *optrace.Tracer) {
				b := New(plain(t), tracer, "cpu:0")
				b.SetPath("layer")
				_, want = executeWithGraph(t, b, p)
			})
			var got []described
			for _, e := range entries[len(entries)/2:] { // of the second execution
				got = append(got, described{e.Operation, e.InputShapes, e.OutputShape, e.DType})
				if err := e.Validate(); err != nil || e.Warn != 0 || e.DeviceID != "cpu:0" || e.Path != "layer" {
					t.Errorf("%+v: %v", e, err)
				}
			}
			if name == copies { // which are not in the graph
				x, numbers := []op.Shape{{4, 3}}, []op.Shape{{2}}
				want = append(want, described{"Identity", x, x[0], op.F32}, described{"Identity", numbers, numbers[0], op.F32})
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("operations (-graph +recorded):\n%s", diff)
			}
		})
	}
}

// nodes describes the nodes of a graph that are operations and that an output needs.
func nodes(g *graph.Graph, outputs []*graph.Node) (all []described) {
	needed := make(map[*graph.Node]bool)
	numbers := make(map[*graph.Node]*graph.Node) // the largest output of a node that has several
	var need func(n *graph.Node)
	need = func(n *graph.Node) {
		if needed[n] {
			return
		}
		needed[n] = true
		for _, in := range n.Inputs() {
			need(in)
		}
	}
	for _, n := range outputs {
		need(n)
	}
	for _, n := range g.Nodes() {
		switch {
		case n.Type() == graph.NodeTypeIdentity: // also of an output that is there twice
			need(n)
		case n.Type() == graph.NodeTypeSplitNode:
			if from := n.Inputs()[0]; numbers[from] == nil || n.Shape().Memory() > numbers[from].Shape().Memory() {
				numbers[from] = n
			}
		}
	}
	for _, n := range g.Nodes() {
		switch n.Type() {
		case graph.NodeTypeParameter, graph.NodeTypeConstant, graph.NodeTypeSplitNode:
			continue
		}
		if !needed[n] {
			continue
		}
		from := n
		if numbers[n] != nil {
			n = numbers[n]
		}
		d := described{Name: from.Type().String(), Inputs: []op.Shape{}, Output: dims(n.Shape()), DType: dtypeOf(n.DType())}
		for _, in := range from.Inputs() {
			d.Inputs = append(d.Inputs, dims(in.Shape()))
		}
		all = append(all, d)
	}
	return all
}

func TestFLOPsOfProducts(t *testing.T) {
	entries := record(t, func(tracer *optrace.Tracer) {
		b := New(plain(t), tracer, "cpu:0")
		execute(t, b, func(x, w, images *graph.Node) []*graph.Node {
			kernel := graph.IotaFull(images.Graph(), shapes.Make(dtypes.Float32, 3, 3, 2, 5))
			return []*graph.Node{
				graph.Dot(x, w), // [4,3]·[3,2]
				graph.DotGeneral(images, []int{-1}, []int{0}, images, []int{-1}, []int{0}), // 2 times [36,2]·[2,36]
				graph.Convolve(images, kernel).PadSame().Strides(2).Done(),                 // [2,3,3,5]
			}
		})
	})
	got := make(map[string]op.Int)
	for _, e := range entries {
		if e.FLOPs.Known {
			got[e.Operation] = e.FLOPs
		}
	}
	want := map[string]op.Int{
		"Dot":         op.Known(2 * 4 * 2 * 3),
		"DotGeneral":  op.Known(2 * 2 * 36 * 36 * 2),
		"ConvGeneral": op.Known(2 * (2 * 3 * 3 * 5) * (3 * 3 * 2)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FLOPs (-want +got):\n%s", diff)
	}
}

func TestKinds(t *testing.T) {
	entries := record(t, func(tracer *optrace.Tracer) {
		execute(t, New(plain(t), tracer, "cpu:0"), func(x, w, _ *graph.Node) []*graph.Node {
			repeated := graph.BroadcastToDims(graph.ReduceAllSum(w), 4, 3)
			return []*graph.Node{graph.Transpose(graph.Mul(repeated, x), 0, 1)}
		})
	})
	got := make(map[string]op.Kind)
	for _, e := range entries {
		got[e.Operation] = e.Kind
	}
	want := map[string]op.Kind{
		"ReduceSum": op.KindCompute, "BroadcastInDim": op.KindMemory,
		"Mul": op.KindCompute, "Transpose": op.KindMemory,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if k := kindOf("AllReduce"); k != op.KindCollective {
		t.Errorf("AllReduce is %v", k)
	}
}

func TestOperationsAreBelowTheSpanOfTheContext(t *testing.T) {
	entries := record(t, func(tracer *optrace.Tracer) {
		b := New(plain(t), tracer, "cpu:0")
		for step := range int64(2) {
			ctx, o := tracer.Start(optrace.ContextWithStep(t.Context(), step), "request", "")
			b.SetContext(ctx)
			execute(t, b, programs["a layer"])
			o.End()
		}
	})
	requests := make(map[op.SpanID]op.Int)
	for _, e := range entries {
		if e.Operation == "request" {
			requests[e.SpanID] = e.Step
		}
	}
	for _, e := range entries {
		if step, ok := requests[e.ParentSpanID]; e.Operation != "request" && (!ok || step != e.Step) {
			t.Errorf("%s of step %v is below the request of step %v", e.Operation, e.Step, step)
		}
	}
	if len(requests) != 2 || len(entries) < 10 {
		t.Errorf("%d requests among %d operations", len(requests), len(entries))
	}
}

// TestDonatedInputsAreUsedUp checks that an input that was given away belongs to nobody afterwards,
// whether the graph needs it or not, and that others are left alone.
func TestDonatedInputsAreUsedUp(t *testing.T) {
	b := New(plain(t), nil, "")
	builder := b.Builder("test")
	shape := shapes.Make(dtypes.Float32, 2)
	var params []backends.Op
	for _, name := range []string{"used", "unused", "kept", "returned"} {
		p, err := builder.Parameter(name, shape, nil)
		if err != nil {
			t.Fatal(err)
		}
		params = append(params, p)
	}
	sum, err := builder.Add(params[0], params[2])
	if err != nil {
		t.Fatal(err)
	}
	exec, err := builder.Compile([]backends.Op{sum, params[3]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	if names, in := exec.Inputs(); len(names) != 4 || len(in) != 4 || len(exec.Outputs()) != 2 {
		t.Errorf("inputs %v %v, outputs %v", names, in, exec.Outputs())
	}
	buffers := make([]backends.Buffer, len(params))
	for i := range buffers {
		if buffers[i], err = b.BufferFromFlatData(0, []float32{float32(i), 10}, shape); err != nil {
			t.Fatal(err)
		}
	}
	outputs, err := exec.Execute(buffers, []bool{true, true, false, true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{2, 20}, {3, 10}} {
		if got, err := b.BufferData(outputs[i]); err != nil || !cmp.Equal(got, any(want)) {
			t.Errorf("output %d: %v, %v, want %v", i, got, err, want)
		}
	}
	if err := b.BufferFinalize(buffers[1]); err == nil {
		t.Error("the donated input that nothing needs was not freed")
	}
	if err := b.BufferFinalize(buffers[2]); err != nil {
		t.Errorf("the input that was not donated: %v", err)
	}
}

// failing is a backend whose executables of some name fail.
type failing struct{ backends.Backend }

var errTest = errors.New("test")

func (f failing) Builder(name string) backends.Builder {
	return failingBuilder{f.Backend.Builder(name)}
}

type failingBuilder struct{ backends.Builder }

func (b failingBuilder) Exp(x backends.Op) (backends.Op, error) { return b.Identity(x) }

func (b failingBuilder) Tanh(backends.Op) (backends.Op, error) { return nil, errTest }

func (b failingBuilder) Compile(outputs []backends.Op, s []*backends.ShardingSpec) (backends.Executable, error) {
	e, err := b.Builder.Compile(outputs, s)
	return failingExecutable{e}, err
}

type failingExecutable struct{ backends.Executable }

func (e failingExecutable) Execute(in []backends.Buffer, donate []bool, d backends.DeviceNum) ([]backends.Buffer, error) {
	if len(in) == 2 {
		return nil, errTest
	}
	return e.Executable.Execute(in, donate, d)
}

func TestFailingOperation(t *testing.T) {
	entries := record(t, func(tracer *optrace.Tracer) {
		exec, err := graph.NewExec(New(failing{plain(t)}, tracer, "cpu:0"), func(x *graph.Node) *graph.Node {
			return graph.Abs(graph.Mul(graph.Neg(x), graph.Exp(x)))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exec.Exec([]float32{1, 2}); !errors.Is(err, errTest) {
			t.Errorf("error %v", err)
		}
	})
	var got []string
	for _, e := range entries {
		got = append(got, strings.TrimSpace(e.Operation+" "+e.Error))
	}
	if diff := cmp.Diff([]string{"Neg", "Exp", "Mul test"}, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := New(failing{plain(t)}, nil, "")
	shape := shapes.Make(dtypes.Float32, 2)
	other, err := b.Builder("other").Parameter("x", shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(b backends.Builder, x backends.Op) error{
		"an operand of another graph": func(b backends.Builder, _ backends.Op) error { _, err := b.Add(other, other); return err },
		"no operand":                  func(b backends.Builder, _ backends.Op) error { _, err := b.Abs(nil); return err },
		"an operand of another backend": func(b backends.Builder, _ backends.Op) error {
			_, err := b.BroadcastInDim(1, shape, nil)
			return err
		},
		"shapes that do not fit":  func(b backends.Builder, x backends.Op) error { _, err := b.Reshape(x, 3); return err },
		"an operation that fails": func(b backends.Builder, x backends.Op) error { _, err := b.Tanh(x); return err },
		"one with several outputs": func(b backends.Builder, _ backends.Op) error {
			_, _, err := b.RNGBitGenerator(other, shape)
			return err
		},
		"an output of another graph": func(b backends.Builder, _ backends.Op) error {
			_, err := b.Compile([]backends.Op{other}, nil)
			return err
		},
		"a shape of another graph": func(b backends.Builder, _ backends.Op) error { _, err := b.OpShape(other); return err },
		"a constant that is none":  func(b backends.Builder, _ backends.Op) error { _, err := b.Constant([]string{"a"}, 1); return err },
		"a constant too short":     func(b backends.Builder, _ backends.Op) error { _, err := b.Constant([]int32{1}, 2); return err },
		"a sharded input": func(b backends.Builder, _ backends.Op) error {
			_, err := b.Parameter("y", shape, &backends.ShardingSpec{})
			return err
		},
		"sharded outputs": func(b backends.Builder, x backends.Op) error {
			_, err := b.Compile([]backends.Op{x}, []*backends.ShardingSpec{{}})
			return err
		},
		"two devices":      func(b backends.Builder, _ backends.Op) error { return b.DistributedSPMD(2) },
		"a second device":  func(b backends.Builder, _ backends.Op) error { return b.DeviceAssignment(1) },
		"a mesh":           func(b backends.Builder, _ backends.Op) error { return b.DistributedAutoSharding() },
		"to run elsewhere": func(b backends.Builder, x backends.Op) error { return compileAndRun(b, x, nil, nil, 1) },
		"too few inputs":   func(b backends.Builder, x backends.Op) error { return compileAndRun(b, x, nil, nil, 0) },
		"too many to donate": func(b backends.Builder, x backends.Op) error {
			return compileAndRun(b, x, []backends.Buffer{nil}, []bool{true, true}, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			builder := b.Builder("test")
			x, err := builder.Parameter("x", shape, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := use(builder, x); err == nil {
				t.Error("no error")
			}
		})
	}
}

func compileAndRun(b backends.Builder, x backends.Op, in []backends.Buffer, donate []bool, device backends.DeviceNum) error {
	e, err := b.Compile([]backends.Op{x}, nil)
	if err != nil {
		return nil // which is not the error that is looked for
	}
	_, err = e.Execute(in, donate, device)
	return err
}

func TestExecuteConcurrentSafe(t *testing.T) {
	const executions = 20
	want := execute(t, plain(t), programs["gradients"])
	entries := record(t, func(tracer *optrace.Tracer) {
		b := New(plain(t), tracer, "cpu:0")
		var wg sync.WaitGroup
		for range executions {
			wg.Go(func() {
				b.SetContext(context.Background())
				got := execute(t, b, programs["gradients"])
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("outputs (-want +got):\n%s", diff)
				}
			})
		}
		wg.Wait()
	})
	if n := len(entries); n == 0 || n%(2*executions) != 0 {
		t.Errorf("%d operations in %d executions of one graph", n, 2*executions)
	}
}
