package record

import (
	"context"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The operation.
const (
	name    = "matmul"
	device  = "cuda:0"
	inner   = 784
	columns = 256
	// batchSizes is how many sizes of its first dimension come in turn where the
	// shapes are known at run time only.
	batchSizes = 64
)

// work records the operation in different ways. All spans are sampled, and each
// provider has a processor that does nothing.
type work struct {
	ctx       context.Context
	provider  *sdktrace.TracerProvider
	tracer    trace.Tracer
	attrs     []attribute.KeyValue
	ours      *optrace.Tracer
	fresh     *optrace.Tracer // for newShapes, which displaces what a Tracer has cached
	prep      *optrace.Prepared
	inputs    []op.Shape
	output    op.Shape
	rows      int64 // grows where every shape is to be new
	idle      *optrace.Recorder
	encoding  *optrace.Recorder
	processor *optrace.Processor
}

func newWork() (*work, error) {
	w := &work{
		ctx: context.Background(),
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(noopProcessor{})),
		attrs: []attribute.KeyValue{
			tensorconv.OpName(name), tensorconv.DeviceID(device), tensorconv.DType(op.F32),
			tensorconv.InputShapes([]int64{64, inner}, []int64{inner, columns}), tensorconv.OutputShape(64, columns),
		},
		inputs: []op.Shape{{64, inner}, {inner, columns}}, output: op.Shape{64, columns},
	}
	w.tracer, w.ours, w.fresh = w.provider.Tracer("by hand"), optrace.NewTracer(w.provider), optrace.NewTracer(w.provider)
	var err error
	w.prep, err = w.ours.Prepare(optrace.OpSpec{
		Name: name, Device: device, DType: op.F32, Inputs: w.inputs, Output: w.output,
	})
	if err != nil {
		return nil, err
	}
	nothing, err := optrace.NewProcessor(nil)
	if err != nil {
		return nil, err
	}
	w.idle = nothing.Recorder(w.ctx)
	exp, err := optrace.NewExporter(io.Discard)
	if err != nil {
		return nil, err
	}
	// Block: whoever encodes faster than the rest can take waits.
	if w.processor, err = optrace.NewProcessor(exp, optrace.WithPolicy(optrace.Block)); err != nil {
		return nil, err
	}
	w.encoding = w.processor.Recorder(w.ctx)
	return w, nil
}

// sdkSpans is the cheapest span by hand: attributes that were made before, set
// with one call.
func (w *work) sdkSpans(n int) error {
	for range n {
		_, span := w.tracer.Start(w.ctx, name)
		span.SetAttributes(w.attrs...)
		span.End()
	}
	return nil
}

func (w *work) preparedOps(n int) error {
	for range n {
		_, o := w.prep.Start(w.ctx)
		o.End()
	}
	return nil
}

func (w *work) dynamicOps(n int) error {
	for i := range n {
		w.dynamicOp(w.ours, int64(1+i%batchSizes))
	}
	return nil
}

func (w *work) newShapes(n int) error {
	for range n {
		w.rows++
		w.dynamicOp(w.fresh, w.rows)
	}
	return nil
}

func (w *work) dynamicOp(t *optrace.Tracer, rows int64) {
	_, o := t.Start(w.ctx, name, device)
	o.DType(op.F32).In(rows, inner).In(inner, columns).Out(rows, columns).End()
}

// opsPerFinish is how many operations a Recorder holds, those of a graph.
const opsPerFinish = 2_000

// recorded leaves out all that comes after recording: the Recorder's processor
// has no exporter.
func (w *work) recorded(n int) error {
	w.begin(w.idle, n)
	return nil
}

func (w *work) recordedPrepared(n int) error {
	for i := range n {
		if i%opsPerFinish == 0 {
			w.idle.Finish()
		}
		w.idle.BeginPrepared(w.prep)
	}
	w.idle.Finish()
	return nil
}

// recordedAndEncoded waits until the last entry is with the writer.
func (w *work) recordedAndEncoded(n int) error {
	w.begin(w.encoding, n)
	return w.processor.ForceFlush(w.ctx)
}

func (w *work) begin(rec *optrace.Recorder, n int) {
	for i := range n {
		if i%opsPerFinish == 0 {
			rec.Finish()
		}
		rec.Begin(name, device).DType(op.F32).In(w.inputs[0]...).In(w.inputs[1]...).Out(w.output...).End()
	}
	rec.Finish()
}

// lossless returns an error if an operation that was to be encoded is not.
func (w *work) lossless() error {
	if st := w.processor.Stats(); st.Dropped > 0 || st.Written != st.Recorded {
		return fmt.Errorf("of %d operations of the Recorder %d were written and %d dropped", st.Recorded, st.Written, st.Dropped)
	}
	return nil
}

func (w *work) close() []error {
	return []error{w.processor.Shutdown(w.ctx), w.provider.Shutdown(w.ctx)}
}

// noopProcessor takes spans and does nothing.
type noopProcessor struct{}

func (noopProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (noopProcessor) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (noopProcessor) Shutdown(context.Context) error                  { return nil }
func (noopProcessor) ForceFlush(context.Context) error                { return nil }
