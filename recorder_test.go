package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The tests of the seed's recorder, translated.
func TestRecorderSeed(t *testing.T) {
	newRecorder := func() *optrace.Recorder { return optrace.NewTracer(nil).Recorder(t.Context()) }
	t.Run("begin and end", func(t *testing.T) {
		rec := newRecorder()
		rec.Begin("matmul", "")
		rec.EndShapes([]op.Shape{{2, 3}, {3, 4}}, op.Shape{2, 4})
		tr := rec.Current()
		if tr.StepCount() != 1 {
			t.Fatalf("%d steps, want 1", tr.StepCount())
		}
		e := tr.Entries[0]
		if e.Operation != "matmul" || e.OutputElements != op.Known(8) {
			t.Errorf("entry is %s of %v elements", e.Operation, e.OutputElements)
		}
		if diff := cmp.Diff(op.Shape{2, 4}, e.OutputShape); diff != "" {
			t.Errorf("output shape (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]op.Shape{{2, 3}, {3, 4}}, e.InputShapes); diff != "" {
			t.Errorf("input shapes (-want +got):\n%s", diff)
		}
	})
	t.Run("multiple", func(t *testing.T) {
		rec := newRecorder()
		for _, name := range []string{"conv", "relu", "pool"} {
			rec.Begin(name, "")
			rec.EndShapes([]op.Shape{{1, 3, 8, 8}}, op.Shape{1, 16, 6, 6})
		}
		for i, e := range rec.Current().Entries {
			if e.Step != op.Known(int64(i)) {
				t.Errorf("entry %d has step %v", i, e.Step)
			}
		}
	})
	t.Run("begin ends the one before", func(t *testing.T) {
		rec := newRecorder()
		rec.Begin("a", "")
		rec.Begin("b", "")
		if got := rec.Current().StepCount(); got != 1 {
			t.Errorf("%d operations have ended, want 1", got)
		}
		rec.End()
		rec.End()
		tr := rec.Current()
		if tr.StepCount() != 2 {
			t.Fatalf("%d operations, want 2", tr.StepCount())
		}
		a, b := tr.Entries[0], tr.Entries[1]
		if a.End() != b.Start {
			t.Errorf("a ends at %v, b starts at %v: back to back they are one reading", a.End(), b.Start)
		}
	})
	t.Run("unknown shapes", func(t *testing.T) {
		rec := newRecorder()
		rec.Begin("a", "")
		rec.End()
		rec.Begin("b", "")
		rec.EndShapes(nil, op.Shape{})
		tr := rec.Current()
		if e := tr.Entries[0]; e.OutputShape != nil || e.InputShapes != nil || e.OutputElements.Known {
			t.Errorf("without shapes: %+v", e)
		}
		if e := tr.Entries[1]; e.OutputShape == nil || e.OutputElements != op.Known(1) {
			t.Errorf("a scalar: %+v", e)
		}
	})
}

func TestTracerRecorderEmitsSpans(t *testing.T) {
	mem := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem))
	tr := optrace.NewTracer(tp)
	prep, err := tr.Prepare(optrace.OpSpec{Name: "gelu", Device: "cuda:1", Output: op.Shape{4}, DType: op.F16})
	if err != nil {
		t.Fatal(err)
	}
	ctx, request := tp.Tracer("app").Start(t.Context(), "request")
	rec := tr.Recorder(optrace.ContextWithStep(ctx, 7))
	before := time.Now()
	rec.Begin("matmul", "cuda:0")
	rec.EndShapes([]op.Shape{{64, 784}, {784, 256}}, op.Shape{64, 256})
	rec.DType(op.F32)
	rec.Err(errors.New("out of memory"))
	rec.BeginPrepared(prep)
	done := make(chan struct{})
	go func() { // Finish may run elsewhere
		defer close(done)
		rec.Finish()
	}()
	<-done
	request.End()

	spans := mem.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans, want 2 operations and the request", len(spans))
	}
	mm, gelu := spans[0], spans[1]
	want := []attribute.KeyValue{
		tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"),
		tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}), tensorconv.OutputShape(64, 256),
		tensorconv.DType(op.F32), tensorconv.Step(7),
	}
	if diff := cmp.Diff(want, mm.Attributes, cmp.Comparer(func(a, b attribute.Value) bool { return a == b })); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if mm.Status.Code != codes.Error || mm.Status.Description != "out of memory" {
		t.Errorf("status %+v", mm.Status)
	}
	if mm.Parent.SpanID() != request.SpanContext().SpanID() || gelu.Parent.SpanID() != request.SpanContext().SpanID() {
		t.Error("the operations are not below the request")
	}
	if mm.StartTime.Before(before) || mm.EndTime.Before(mm.StartTime) || gelu.StartTime.Before(mm.EndTime) {
		t.Errorf("times %v-%v, %v-%v after %v", mm.StartTime, mm.EndTime, gelu.StartTime, gelu.EndTime, before)
	}
	if gelu.Name != "gelu" {
		t.Errorf("the prepared operation is called %q", gelu.Name)
	}

	mem.Reset()
	rec.Begin("again", "")
	rec.Finish()
	if got := mem.GetSpans(); len(got) != 1 || got[0].Name != "again" {
		t.Errorf("after Finish the recorder made %d spans, want 1", len(got))
	}
}

func TestProcessorRecorder(t *testing.T) {
	var buf bytes.Buffer
	exp, err := optrace.NewExporter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := optrace.NewProcessor(exp)
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	ctx, request := tp.Tracer("app").Start(t.Context(), "request")
	rec := proc.Recorder(ctx)
	rec.Begin("matmul", "cuda:0")
	rec.EndShapes(nil, op.Shape{64, 256})
	rec.Begin("allreduce", "cuda:0")
	rec.Finish()
	request.End()
	proc.Recorder(context.Background()).Finish() // nothing recorded, nothing emitted
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ops []*op.Entry
	var spans []op.Span
	for rec, err := range op.NewReader(&buf, "ops").Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil {
			ops = append(ops, rec.Entry.Clone())
		}
		if rec.Span != nil {
			spans = append(spans, *rec.Span)
		}
	}
	if len(ops) != 2 || len(spans) != 1 {
		t.Fatalf("%d entries and %d spans, want 2 and 1", len(ops), len(spans))
	}
	sc := request.SpanContext()
	for _, e := range ops {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if e.TraceID != op.TraceID(sc.TraceID()) || e.ParentSpanID != op.SpanID(sc.SpanID()) || e.SpanID.IsZero() {
			t.Errorf("%s is not below the request: %v %v", e.Operation, e.TraceID, e.ParentSpanID)
		}
		if e.Root != "request" || e.RootSpanID != e.ParentSpanID || e.Service == "" || e.Scope != optrace.ScopeName {
			t.Errorf("%s: root %q, service %q, scope %q", e.Operation, e.Root, e.Service, e.Scope)
		}
	}
	if st := proc.Stats(); st.Recorded != 2 || st.Written != 2 || st.Dropped != 0 {
		t.Errorf("stats %+v", st)
	}
}

func TestProcessorRecorderSampling(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []optrace.ProcessorOption
		want uint64
	}{
		{"sampled only", nil, 0},
		{"record only", []optrace.ProcessorOption{optrace.WithRecordOnly()}, 1},
		{"filter", []optrace.ProcessorOption{
			optrace.WithRecordOnly(), optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool { return s.Name() != "a" }),
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exp, err := optrace.NewExporter(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			proc, err := optrace.NewProcessor(exp, tt.opts...)
			if err != nil {
				t.Fatal(err)
			}
			tp := sdktrace.NewTracerProvider(
				sdktrace.WithSpanProcessor(proc), sdktrace.WithSampler(sdktrace.AlwaysRecord(sdktrace.NeverSample())))
			ctx, span := tp.Tracer("app").Start(t.Context(), "request")
			rec := proc.Recorder(ctx)
			rec.Begin("a", "cpu")
			rec.Finish()
			span.End()
			if err := tp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := proc.Stats().Written; got != tt.want {
				t.Errorf("%d operations written, want %d", got, tt.want)
			}
		})
	}
}

func TestProcessorRecorderForeignExporter(t *testing.T) {
	mem := &retaining{}
	proc, err := optrace.NewProcessor(mem)
	if err != nil {
		t.Fatal(err)
	}
	rec := proc.Recorder(t.Context())
	rec.Begin("matmul", "cuda:0")
	rec.EndShapes([]op.Shape{{2, 2}}, op.Shape{2, 2})
	rec.Err(errors.New("boom"))
	rec.Finish()
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(mem.spans) != 1 {
		t.Fatalf("%d spans, want 1", len(mem.spans))
	}
	s := mem.spans[0]
	if !s.SpanContext.IsValid() || s.Name != "matmul" || s.Status.Description != "boom" || s.SpanKind != trace.SpanKindInternal {
		t.Errorf("span %+v", s)
	}
}

// retaining keeps what it is given, also after its Shutdown.
type retaining struct{ spans tracetest.SpanStubs }

func (r *retaining) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	r.spans = append(r.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func (r *retaining) Shutdown(context.Context) error { return nil }

func TestRecorderManyInputs(t *testing.T) {
	rec := optrace.NewTracer(nil).Recorder(t.Context())
	rec.Begin("concat", strings.Repeat("d", 10))
	rec.EndShapes(make([]op.Shape, 3*op.MaxInputs), make(op.Shape, 2*op.MaxRank))
	e := rec.Current().Entries[0]
	if err := e.Validate(); err != nil {
		t.Error(err)
	}
	if e.Warn&op.WarnShapeTruncated == 0 {
		t.Errorf("warnings %v, want a truncated shape", e.Warn)
	}
}

func TestRecorderAllocations(t *testing.T) {
	rec := discardingRecorder(t)
	inputs, output := []op.Shape{{64, 784}, {784, 256}}, op.Shape{64, 256}
	n := testing.AllocsPerRun(1000, func() {
		rec.Begin("matmul", "cuda:0")
		rec.EndShapes(inputs, output)
		rec.DType(op.F32)
	})
	if n > 0 {
		t.Errorf("%v allocations per operation, want none", n)
	}
}

// discardingRecorder returns a Recorder with room for many operations.
func discardingRecorder(tb testing.TB) *optrace.Recorder {
	tb.Helper()
	proc, err := optrace.NewProcessor(nil)
	if err != nil {
		tb.Fatal(err)
	}
	rec := proc.Recorder(tb.Context())
	for range 1 << 16 {
		rec.Begin("warm", "up")
		rec.EndShapes([]op.Shape{{1, 1}, {1, 1}}, op.Shape{1, 1})
	}
	rec.Finish()
	return rec
}

func BenchmarkRecorder(b *testing.B) {
	inputs, output := []op.Shape{{64, 784}, {784, 256}}, op.Shape{64, 256}
	b.Run("dynamic", func(b *testing.B) {
		rec := discardingRecorder(b)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			rec.Begin("matmul", "cuda:0")
			rec.EndShapes(inputs, output)
			rec.DType(op.F32)
			if i++; i%(1<<16) == 0 {
				rec.Finish()
			}
		}
	})
	b.Run("prepared back to back", func(b *testing.B) {
		rec := discardingRecorder(b)
		prep, err := optrace.NewTracer(nil).Prepare(optrace.OpSpec{
			Name: "matmul", Device: "cuda:0", Inputs: inputs, Output: output, DType: op.F32,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			rec.BeginPrepared(prep)
			if i++; i%(1<<16) == 0 {
				rec.Finish()
			}
		}
	})
	b.Run("with entries", func(b *testing.B) {
		exp, err := optrace.NewExporter(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(optrace.Block))
		if err != nil {
			b.Fatal(err)
		}
		defer proc.Shutdown(context.Background())
		rec := proc.Recorder(b.Context())
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			rec.Begin("matmul", "cuda:0")
			rec.EndShapes(inputs, output)
			rec.DType(op.F32)
			if i++; i%1024 == 0 {
				rec.Finish()
			}
		}
	})
}
