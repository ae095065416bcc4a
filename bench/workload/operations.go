package workload

import (
	"math"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// form relates the shapes of the inputs and the output of an operation.
type form uint8

const (
	matrix      form = iota // (b, m, k) and (k, n) give (b, m, n)
	conv                    // an image and filters
	unary                   // one input, output of the same shape
	elementwise             // two inputs, output of the same shape
	scaled                  // an input and a vector of weights
	reduced                 // the output lacks the last dimension
	moved                   // like unary, of the kind memory
	collective              // like unary, of the kind collective
)

// operations lists the 40 names with their forms.
var operations = [...]struct {
	name string
	form form
}{
	{"matmul", matrix}, {"bmm", matrix}, {"linear", matrix}, {"attention_scores", matrix},
	{"attention_context", matrix},
	{"conv1d", conv}, {"conv2d", conv}, {"conv_transpose2d", conv},
	{"relu", unary}, {"gelu", unary}, {"silu", unary}, {"sigmoid", unary}, {"tanh", unary}, {"softmax", unary},
	{"log_softmax", unary}, {"dropout", unary}, {"transpose", moved}, {"contiguous", moved}, {"cast", moved},
	{"exp", unary},
	{"sqrt", unary}, {"rotary_embedding", unary},
	{"add", elementwise}, {"sub", elementwise}, {"mul", elementwise}, {"div", elementwise}, {"where", elementwise},
	{"residual_add", elementwise},
	{"layer_norm", scaled}, {"rms_norm", scaled}, {"batch_norm", scaled}, {"embedding", scaled}, {"bias_add", scaled},
	{"sum", reduced}, {"mean", reduced}, {"argmax", reduced}, {"cross_entropy", reduced},
	{"all_reduce", collective}, {"all_gather", collective}, {"reduce_scatter", collective},
}

var elementTypes = [...]op.DType{op.BF16, op.F16, op.F32}

const numDevices = 8

func deviceName(i int) string { return "cuda:" + strconv.Itoa(i) }

// The streams of a device.
const (
	computeStream    = 7
	collectiveStream = 13
)

// Spec is an operation of the graph. It is read-only.
type Spec struct {
	optrace.OpSpec

	median float64           // of the duration in nanoseconds
	ready  *optrace.Prepared // nil before the first run
}

// newSpec returns a random operation. Its sizes are multiples of step.
func newSpec(rng *rand.Rand, device, path string, step int64) *Spec {
	kind := operations[rng.IntN(len(operations))]
	size := func(most int64) int64 { return step * (1 + rng.Int64N(most/step)) }
	s := &Spec{
		OpSpec: optrace.OpSpec{
			Name: kind.name, Device: device, Stream: op.Known(computeStream), Path: path, Kind: op.KindCompute,
			DType: elementTypes[rng.IntN(len(elementTypes))],
		},
		median: 5_000 * math.Exp(3*rng.Float64()), // 5 to 100 µs
	}
	b := 1 + rng.Int64N(32)
	m := size(1024)
	k := size(1024)
	n := size(1024)
	s.Inputs = []op.Shape{{b, m, k}}
	s.Output = op.Shape{b, m, k}
	switch kind.form {
	case matrix:
		s.Inputs = append(s.Inputs, op.Shape{k, n})
		s.Output[2] = n
		s.FLOPs = op.Known(2 * b * m * k * n)
	case conv:
		c := 8 * (1 + rng.Int64N(16))
		s.Inputs = []op.Shape{{b, c, m, m}, {2 * c, c, 3, 3}}
		s.Output = op.Shape{b, 2 * c, m, m}
	case elementwise:
		s.Inputs = append(s.Inputs, op.Shape{b, m, k})
	case scaled:
		s.Inputs = append(s.Inputs, op.Shape{k})
	case reduced:
		s.Output = s.Output[:2]
	case unary, moved, collective:
	}
	switch kind.form {
	case moved:
		s.Kind = op.KindMemory
	case collective:
		s.Kind = op.KindCollective
		s.Stream = op.Known(collectiveStream)
		s.Attrs = []attribute.KeyValue{
			tensorconv.CollectiveName(kind.name), tensorconv.CollectiveGroupName("data_parallel"),
			tensorconv.CollectiveGroupSize(numDevices),
		}
	}
	return s
}

// The graph: layers of operations.
const (
	numLayers   = 100
	opsPerLayer = 20
	opsPerGraph = numLayers * opsPerLayer
	graphStep   = 64
	randomStep  = 1
)

var blocks = [...]string{"attention", "mlp"}

func pathOf(i int) string {
	return "layers." + strconv.Itoa(i/opsPerLayer) + "." + blocks[i%opsPerLayer*len(blocks)/opsPerLayer]
}

// Graph returns the 2,000 operations of the graph on the first device, then on the second, and so on.
func Graph(devices int) []*Spec {
	var all []*Spec
	for _, s := range (Config{Kind: G512}).streams()[:devices] {
		for i := range opsPerGraph {
			all = append(all, s.spec(i))
		}
	}
	return all
}
