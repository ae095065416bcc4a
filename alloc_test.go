package optrace_test

import (
	"context"
	"io"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// noopProcessor makes the SDK finish spans and does nothing with them.
type noopProcessor struct{}

func (noopProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (noopProcessor) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (noopProcessor) Shutdown(context.Context) error                  { return nil }
func (noopProcessor) ForceFlush(context.Context) error                { return nil }

func noopProvider(tb testing.TB) *sdktrace.TracerProvider {
	tb.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(noopProcessor{}))
	tb.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return tp
}

// sdkSpan records an operation with the SDK alone, as cheaply as that is
// possible by hand: attributes built before and set in one call.
func sdkSpan(tracer trace.Tracer, attrs []attribute.KeyValue) {
	_, span := tracer.Start(context.Background(), "matmul")
	span.SetAttributes(attrs...)
	span.End()
}

func matmulSpec() optrace.OpSpec {
	return optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32, Inputs: []op.Shape{{64, 784}, {784, 256}}, Output: op.Shape{64, 256},
	}
}

func preparedOp(p *optrace.Prepared) {
	_, o := p.Start(context.Background())
	o.End()
}

func dynamicOp(tr *optrace.Tracer, n int64) {
	_, o := tr.Start(context.Background(), "matmul", "cuda:0")
	o.In(n, 784).In(784, 256).Out(n, 256).DType(op.F32).End()
}

// Recording allocates what the SDK's span does and nothing on top.
func TestRecordingAllocations(t *testing.T) {
	cases.NotUnderRace(t, "pools are emptied at random under the race detector")
	tp := noopProvider(t)
	attrs := spantest.Operation(0).Attributes[:5]
	tracer := tp.Tracer("by hand")
	tr := optrace.NewTracer(tp)
	p := prepare(t, tr, matmulSpec())
	floor := testing.AllocsPerRun(1000, func() { sdkSpan(tracer, attrs) })
	if got := testing.AllocsPerRun(1000, func() { preparedOp(p) }); got > floor {
		t.Errorf("a prepared operation makes %v allocations, the SDK's span %v", got, floor)
	}
	if got := testing.AllocsPerRun(1000, func() { dynamicOp(tr, 64) }); got > floor {
		t.Errorf("an operation of a known shape makes %v allocations, the SDK's span %v", got, floor)
	}
	ctx := optrace.ContextWithStep(context.Background(), 7)
	stepped := append(attrs[:5:5], tensorconv.Step(7))
	floor = testing.AllocsPerRun(1000, func() {
		_, span := tracer.Start(ctx, "matmul")
		span.SetAttributes(stepped...)
		span.End()
	})
	if got := testing.AllocsPerRun(1000, func() { _, o := p.Start(ctx); o.End() }); got > floor {
		t.Errorf("a prepared operation with a step makes %v allocations, the SDK's span %v", got, floor)
	}
}

// Exporting repeated shapes allocates nothing per span.
func TestExportAllocations(t *testing.T) {
	cases.NotUnderRace(t, "the race detector allocates")
	exp := newExporter(t, io.Discard)
	spans := spantest.Operations(512)
	ctx := context.Background()
	export := func() {
		if err := exp.ExportSpans(ctx, spans); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		export() // what repeats gets known
	}
	got := testing.AllocsPerRun(50, export)
	if got > 4 {
		t.Errorf("a batch of 512 spans makes %v allocations", got)
	}
}

// Encoding in OnEnd allocates nothing per span.
func TestProcessorAllocations(t *testing.T) {
	cases.NotUnderRace(t, "pools are emptied at random under the race detector")
	proc := newProcessor(t, newExporter(t, io.Discard))
	defer func() { _ = proc.Shutdown(context.Background()) }()
	span := spantest.Operation(0).Snapshot()
	got := testing.AllocsPerRun(20_000, func() { proc.OnEnd(span) })
	if got >= 1 {
		t.Errorf("OnEnd makes %v allocations", got)
	}
}
