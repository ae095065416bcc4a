package record

import (
	"context"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// set describes the operations that are recorded in turn.
type set struct {
	name string
	// steps groups the operations by training steps: a span above them, and the
	// number of the step with each.
	steps bool
	ops   func() []operation
}

func (s *set) String() string { return s.name }

// sets are the sets of operations. The last is the realistic one: the 2,000
// operations of a graph on each of 8 devices that run at the same time.
var sets = []*set{
	{"one op", false, func() []operation { return []operation{oneOp()} }},
	{"one op, steps", true, func() []operation { return []operation{oneOp()} }},
	{"16,000 ops, steps", true, func() []operation { return graphOps(8) }},
}

// exportSets are the sets of operations that are exported: one alone would be
// found in every cache.
var exportSets = []*set{
	{"2,000 ops", false, func() []operation { return graphOps(1) }},
	{"2,000 ops, steps", true, func() []operation { return graphOps(1) }},
	sets[2],
}

const opsPerStep = 2_000

// operation is an operation with everything that can be made in advance.
type operation struct {
	optrace.OpSpec

	// attrs are those of the span, with room for a step at the end.
	attrs []attribute.KeyValue
	// extra are the attributes that Op has no method for.
	extra []attribute.KeyValue
}

func newOperation(spec optrace.OpSpec, attrs []attribute.KeyValue) operation {
	o := operation{OpSpec: spec, attrs: append(slices.Clip(attrs), attribute.KeyValue{})}
	byMethod := []attribute.Key{
		tensorconv.OpNameKey, tensorconv.DeviceIDKey, tensorconv.InputShapesKey, tensorconv.OutputShapeKey, tensorconv.DTypeKey,
	}
	for _, kv := range attrs {
		if !slices.Contains(byMethod, kv.Key) {
			o.extra = append(o.extra, kv)
		}
	}
	return o
}

// The operation of the sets with one.
const (
	inner   = 784
	columns = 256
)

func oneOp() operation {
	spec := optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32, Inputs: []op.Shape{{64, inner}, {inner, columns}}, Output: op.Shape{64, columns},
	}
	return newOperation(spec, []attribute.KeyValue{
		tensorconv.OpName(spec.Name), tensorconv.DeviceID(spec.Device), tensorconv.DType(spec.DType),
		tensorconv.InputShapes(spec.Inputs[0], spec.Inputs[1]), tensorconv.OutputShape(spec.Output...),
	})
}

// graphOps returns the operations of a graph on a number of devices, in an order that
// changes from one device to another at random.
func graphOps(devices int) []operation {
	specs := workload.Graph(devices)
	n := len(specs) / devices
	rng := rand.New(rand.NewPCG(1, 2))
	var ops []operation
	next := make([]int, devices)
	for len(ops) < len(specs) {
		if d := rng.IntN(devices); next[d] < n {
			s := specs[d*n+next[d]]
			ops = append(ops, newOperation(s.OpSpec, s.All))
			next[d]++
		}
	}
	return ops
}

// run goes through the operations of a set in turn. It is used by one goroutine.
type run struct {
	set    *set
	ops    []operation
	tracer trace.Tracer // of the steps' spans
	next   int
	inStep int
	turns  int
	number int64
	step   trace.Span
}

func newRun(s *set, ops []operation, tracer trace.Tracer, first int) *run {
	return &run{set: s, ops: ops, tracer: tracer, next: first % len(ops)}
}

// each calls do with the indexes of n operations. What it changes at the bounds of
// steps costs all sides the same.
func (r *run) each(ctx context.Context, n int, do func(ctx context.Context, i int)) {
	in := ctx
	for range n {
		if r.set.steps && r.inStep%opsPerStep == 0 {
			r.end()
			in, r.step = r.tracer.Start(optrace.ContextWithStep(ctx, r.number), "train_step")
			r.number++
		}
		r.inStep++
		i := r.next
		if r.next++; r.next == len(r.ops) {
			r.next = 0
		}
		do(in, i)
	}
	r.end()
	r.inStep = 0
}

// turn begins another step of a Recorder where there have been enough operations.
func (r *run) turn(rec *optrace.Recorder) {
	if r.turns++; r.turns%opsPerStep > 0 {
		return
	}
	rec.Finish()
	if r.set.steps {
		rec.Step(r.number)
	}
}

func (r *run) end() {
	if r.step != nil {
		r.step.End()
		r.step = nil
	}
}

// attrs returns the attributes of an operation's span, in memory that the next call
// with the same index uses again.
func (r *run) attrs(i int) []attribute.KeyValue {
	attrs := r.ops[i].attrs
	last := len(attrs) - 1
	if !r.set.steps {
		return attrs[:last]
	}
	attrs[last] = tensorconv.Step(r.number - 1)
	return attrs
}
