package workload

import (
	"math"
	"math/rand/v2"

	"github.com/optrace/optrace/op"
)

// form is how the shapes of an operation hang together.
type form uint8

const (
	matrix      form = iota // (b, m, k) and (k, n) give (b, m, n)
	conv                    // an image and filters
	unary                   // one input, output alike
	elementwise             // two inputs, output alike
	scaled                  // an input and a vector of weights
	reduced                 // the last dimension goes
)

// operations are the 40 names and the form of each.
var operations = [...]struct {
	name string
	form form
}{
	{"matmul", matrix}, {"bmm", matrix}, {"linear", matrix}, {"attention_scores", matrix}, {"attention_context", matrix},
	{"conv1d", conv}, {"conv2d", conv}, {"conv_transpose2d", conv},
	{"relu", unary}, {"gelu", unary}, {"silu", unary}, {"sigmoid", unary}, {"tanh", unary}, {"softmax", unary},
	{"log_softmax", unary}, {"dropout", unary}, {"transpose", unary}, {"contiguous", unary}, {"cast", unary}, {"exp", unary},
	{"sqrt", unary}, {"rotary_embedding", unary},
	{"add", elementwise}, {"sub", elementwise}, {"mul", elementwise}, {"div", elementwise}, {"where", elementwise}, {"residual_add", elementwise},
	{"layer_norm", scaled}, {"rms_norm", scaled}, {"batch_norm", scaled}, {"embedding", scaled}, {"bias_add", scaled},
	{"sum", reduced}, {"mean", reduced}, {"argmax", reduced}, {"cross_entropy", reduced},
	{"all_reduce", unary}, {"all_gather", unary}, {"reduce_scatter", unary},
}

// elementTypes are given to the operations of the graph in turn.
var elementTypes = [...]op.DType{op.BF16, op.F16, op.F32}

// newSpec returns a random operation. Its sizes are multiples of step, of which
// there are few with a large step and many with a small one.
func newSpec(rng *rand.Rand, device string, step int64, textShapes bool) *Spec {
	kind := operations[rng.IntN(len(operations))]
	size := func(most int64) int64 { return step * (1 + rng.Int64N(most/step)) }
	s := &Spec{
		Name: kind.name, Device: device, DType: elementTypes[rng.IntN(len(elementTypes))],
		median: 5_000 * math.Exp(3*rng.Float64()), // 5 to 100 µs
	}
	b, m, k, n := 1+rng.Int64N(32), size(1024), size(1024), size(1024)
	switch kind.form {
	case matrix:
		s.Inputs, s.Output = [][]int64{{b, m, k}, {k, n}}, []int64{b, m, n}
	case conv:
		c := 8 * (1 + rng.Int64N(16))
		s.Inputs, s.Output = [][]int64{{b, c, m, m}, {2 * c, c, 3, 3}}, []int64{b, 2 * c, m, m}
	case unary:
		s.Inputs, s.Output = [][]int64{{b, m, k}}, []int64{b, m, k}
	case elementwise:
		s.Inputs, s.Output = [][]int64{{b, m, k}, {b, m, k}}, []int64{b, m, k}
	case scaled:
		s.Inputs, s.Output = [][]int64{{b, m, k}, {k}}, []int64{b, m, k}
	case reduced:
		s.Inputs, s.Output = [][]int64{{b, m, k}}, []int64{b, m}
	}
	return s.prepare(textShapes)
}

// The graph: layers of operations.
const (
	numLayers    = 100
	opsPerLayer  = 20
	opsPerGraph  = numLayers * opsPerLayer
	graphStep    = 64
	randomStep   = 1
	durationSpan = 0.4 // the standard deviation of a duration's logarithm
)

// newGraph returns the operations of a graph in order, on the first device.
func newGraph(rng *rand.Rand) []*Spec {
	g := make([]*Spec, opsPerGraph)
	for i := range g {
		g[i] = newSpec(rng, deviceName(0), graphStep, false)
	}
	return g
}

// OperationNames returns the names of the operations.
func OperationNames() []string {
	names := make([]string, len(operations))
	for i, o := range operations {
		names[i] = o.name
	}
	return names
}
