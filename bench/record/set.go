package record

import (
	"context"
	"io"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/op"
)

// set is a list of operations to record in turn.
type set struct {
	name string
	// steps adds training steps: a span above the operations, and an attribute with its number.
	steps bool
	ops   func() []optrace.OpSpec
}

func (s *set) String() string { return s.name }

// sets are the sets of operations for pipelines. The last one is realistic: 2,000 operations of a
// graph on each of 8 devices that run at the same time.
var sets = []*set{
	{"one op", false, func() []optrace.OpSpec { return []optrace.OpSpec{oneOp()} }},
	{"one op, steps", true, func() []optrace.OpSpec { return []optrace.OpSpec{oneOp()} }},
	{"16,000 ops, steps", true, func() []optrace.OpSpec { return graphOps(8) }},
}

// exportSets are the sets of operations for exporting. A single operation would stay in every cache.
var exportSets = []*set{
	{"2,000 ops", false, func() []optrace.OpSpec { return graphOps(1) }},
	{"2,000 ops, steps", true, func() []optrace.OpSpec { return graphOps(1) }},
	sets[2],
}

const opsPerStep = 2_000

func oneOp() optrace.OpSpec {
	return optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32, Inputs: []op.Shape{{64, 784}, {784, 256}},
		Output: op.Shape{64, 256},
	}
}

// graphOps returns the operations of the graph on several devices, interleaved at random.
func graphOps(devices int) []optrace.OpSpec {
	specs := workload.Graph(devices)
	n := len(specs) / devices
	rng := rand.New(rand.NewPCG(1, 2))
	var ops []optrace.OpSpec
	next := make([]int, devices)
	for len(ops) < len(specs) {
		if d := rng.IntN(devices); next[d] < n {
			ops = append(ops, specs[d*n+next[d]].OpSpec)
			next[d]++
		}
	}
	return ops
}

// run iterates over the operations of a set, in one goroutine.
type run struct {
	set    *set
	ops    int
	tracer trace.Tracer // of the steps' spans
	next   int
	number int64
}

// each calls do with the indexes of n operations. Its own cost is the same for all sides.
func (r *run) each(ctx context.Context, n int, do func(ctx context.Context, i int)) {
	in := ctx
	var step trace.Span
	for i := range n {
		if r.set.steps && i%opsPerStep == 0 {
			if step != nil {
				step.End()
			}
			in, step = r.tracer.Start(optrace.ContextWithStep(ctx, r.number), "train_step")
			r.number++
		}
		do(in, r.next)
		if r.next++; r.next == r.ops {
			r.next = 0
		}
	}
	if step != nil {
		step.End()
	}
}

// newProcessor returns a Processor and an Exporter that discards its output.
func newProcessor(opts ...optrace.ProcessorOption) (*optrace.Processor, error) {
	exp, err := optrace.NewExporter(io.Discard)
	if err != nil {
		return nil, err
	}
	return optrace.NewProcessor(exp, opts...)
}

// newProvider returns a provider that samples every span.
func newProvider(p sdktrace.SpanProcessor) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(p))
}

func prepareAll(t *optrace.Tracer, ops []optrace.OpSpec) ([]*optrace.Prepared, error) {
	preps := make([]*optrace.Prepared, len(ops))
	for i, spec := range ops {
		var err error
		if preps[i], err = t.Prepare(spec); err != nil {
			return nil, err
		}
	}
	return preps, nil
}
