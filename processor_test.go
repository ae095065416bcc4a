package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// record makes n operations of tp, numbered by their steps, below ctx.
func record(ctx context.Context, tp *sdktrace.TracerProvider, n int) {
	tracer := optrace.NewTracer(tp)
	for i := range n {
		_, o := tracer.Start(optrace.ContextWithStep(ctx, int64(i)), "matmul", "cuda:0")
		o.In(64, 784).In(784, 256).Out(64, 256).End()
	}
}

func TestNewProcessorOptions(t *testing.T) {
	tests := []struct {
		name string
		opt  optrace.ProcessorOption
		want string // of the error, "" for none
	}{
		{"none", nil, ""},
		{"policy", optrace.WithPolicy(optrace.PolicyBlock + 1), "unknown policy"},
		{"bytes", optrace.WithBufferBytes(64<<10 - 1), "below 65536"},
		{"least bytes", optrace.WithBufferBytes(64 << 10), ""},
		{"interval", optrace.WithFlushInterval(0), "flush interval"},
		{"timeout", optrace.WithExportTimeout(-1), "export timeout"},
		{"nil filter", optrace.WithFilter(nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := optrace.NewProcessor(newExporter(t, &spantest.Buffer{}), nil, tt.opt)
			if err == nil {
				defer func() { _ = p.Shutdown(context.Background()) }()
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
	for p, want := range map[optrace.Policy]string{
		optrace.PolicyDropNewest: "drop-newest", optrace.PolicyDropOldest: "drop-oldest", optrace.PolicyBlock: "block", 9: "Policy(9)",
	} {
		if got := p.String(); got != want {
			t.Errorf("policy %d is %q, want %q", p, got, want)
		}
	}
}

func TestProcessorWithoutExporter(t *testing.T) {
	if p, err := optrace.NewProcessor(nil); p != nil || err == nil {
		t.Errorf("NewProcessor(nil) returns %v, %v", p, err)
	}
	for name, next := range map[string]sdktrace.SpanExporter{
		"nil": nil, "nil pointer": (*spantest.Exporter)(nil), "nil Exporter": (*optrace.Exporter)(nil), "Exporter": newExporter(t, io.Discard),
	} {
		if p, err := optrace.NewForwarder(next); p != nil || err == nil {
			t.Errorf("%s: NewForwarder returns %v, %v", name, p, err)
		}
	}
	if e, err := optrace.NewExporter((*bytes.Buffer)(nil)); e != nil || err == nil {
		t.Errorf("NewExporter returns %v, %v for a nil pointer", e, err)
	}
}

func TestProcessorForceFlush(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	proc := newProcessor(t, exp, optrace.WithFlushInterval(time.Hour))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	for i := range 3 {
		record(t.Context(), tp, 5)
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 5*(i+1) {
			t.Errorf("%d entries after flush %d, want %d", n, i+1, 5*(i+1))
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proc.ForceFlush(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("ForceFlush with a cancelled context returns %v", err)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := proc.ForceFlush(cancelled); err != nil {
		t.Errorf("ForceFlush after Shutdown returns %v", err)
	}
	spantest.ReadWhole(t, buf.Bytes()).CheckBatches(t, false)
}

// Shutdown has the effects of ForceFlush, shuts the exporter down, and ends
// what spans that are still under way can do.
func TestProcessorShutdown(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	proc := newProcessor(t, exp, optrace.WithFlushInterval(time.Hour))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	record(t.Context(), tp, 5)
	_, late := optrace.NewTracer(tp).Start(t.Context(), "late", "")
	for i := range 2 {
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown %d: %v", i+1, err)
		}
	}
	late.End()
	proc.OnEnd(spantest.Operation(0).Snapshot())
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
	if st := proc.Stats(); st != (optrace.Stats{Recorded: 5, Written: 5}) {
		t.Errorf("Stats are %+v", st)
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); !errors.Is(err, optrace.ErrExporterShutdown) {
		t.Errorf("the exporter behind it returns %v", err)
	}
	_ = tp.Shutdown(t.Context())
}

// A Shutdown whose context is done before still brings what is in the buffers
// to a writer that takes it at once.
func TestProcessorShutdownCancelled(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf), optrace.WithFlushInterval(time.Hour))
	for i := range 5 {
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proc.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returns %v, want the context's error", err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
	checkBooks(t, "processor", proc.Stats())
}

func TestProcessorFlushInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf spantest.Buffer
		const interval = 250 * time.Millisecond
		proc := newProcessor(t, newExporter(t, &buf), optrace.WithFlushInterval(interval))
		for i := range 3 {
			proc.OnEnd(spantest.Operation(i).Snapshot())
			time.Sleep(interval - time.Nanosecond)
			synctest.Wait()
			if n := buf.Writes(); n != i {
				t.Errorf("%d writes just before interval %d is over", n, i+1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if n := buf.Writes(); n != i+1 {
				t.Errorf("%d writes when interval %d is over", n, i+1)
			}
		}
		time.Sleep(10 * interval) // nothing to write
		if n := buf.Writes(); n != 3 {
			t.Errorf("%d writes, want 3", n)
		}
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestProcessorFilter(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf), optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool {
		if s.Name() == "panic" {
			panic("filter")
		}
		return s.Name() != "relu"
	}))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer := optrace.NewTracer(tp)
	for _, name := range []string{"matmul", "relu", "panic", "softmax"} {
		_, o := tracer.Start(t.Context(), name, "cpu")
		o.End()
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := proc.Stats(); st != (optrace.Stats{Recorded: 3, Written: 3, Skipped: 1}) {
		t.Errorf("Stats are %+v", st)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

// With AlwaysRecord and WithRecordOnly every operation is counted, whatever
// the sampler decides, while others export the sampled ones only.
func TestProcessorRecordOnly(t *testing.T) {
	const n = 400
	sampler := sdktrace.AlwaysRecord(sdktrace.TraceIDRatioBased(0.25))
	var all, sampled spantest.Buffer
	everything := newProcessor(t, newExporter(t, &all), optrace.WithRecordOnly())
	usual := newProcessor(t, newExporter(t, &sampled))
	exported := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(everything), sdktrace.WithSpanProcessor(usual),
		sdktrace.WithSyncer(exported))
	record(t.Context(), tp, n)
	want := len(exported.GetSpans())
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(spantest.ReadWhole(t, all.Bytes()).Entries); got != n {
		t.Errorf("%d of %d operations are recorded", got, n)
	}
	if got := len(spantest.ReadWhole(t, sampled.Bytes()).Entries); got != want || want == 0 || want == n {
		t.Errorf("%d operations are sampled, the SDK exports %d", got, want)
	}
	if st := usual.Stats(); st != (optrace.Stats{Recorded: uint64(want), Written: uint64(want), Skipped: uint64(n - want)}) {
		t.Errorf("Stats are %+v with %d of %d sampled", st, want, n)
	}
}

func TestProcessorUnregister(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	record(t.Context(), tp, 2)
	tp.UnregisterSpanProcessor(proc)
	record(t.Context(), tp, 2)
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 2 {
		t.Errorf("%d entries, want the 2 of before", n)
	}
	_ = tp.Shutdown(t.Context())
}

func TestProcessorAncestors(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	ctx, request := tp.Tracer("http").Start(t.Context(), "POST /generate")
	stepCtx, step := tp.Tracer("engine").Start(ctx, "step")
	record(stepCtx, tp, 2)
	step.End()
	request.End()
	_, idle := tp.Tracer("http").Start(t.Context(), "GET /healthz")
	idle.End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names []string
	rec := spantest.ReadWhole(t, buf.Bytes())
	for _, s := range rec.Spans {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, ","); got != "step,POST /generate" && got != "POST /generate,step" {
		t.Errorf("ancestry records of %s", got)
	}
	for _, e := range rec.Entries {
		if e.Root != "POST /generate" {
			t.Errorf("an entry's root is %q", e.Root)
		}
	}
}

func TestProcessorConcurrentSafe(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf), optrace.WithBufferBytes(1<<20), optrace.WithFlushInterval(time.Millisecond))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	const producers, each = 6, 300
	var producing, wg sync.WaitGroup
	for range producers {
		producing.Go(func() {
			ctx, request := tp.Tracer("http").Start(context.Background(), "request")
			record(ctx, tp, each)
			request.End()
		})
		wg.Go(func() {
			for range 20 {
				if err := proc.ForceFlush(context.Background()); err != nil {
					t.Errorf("ForceFlush: %v", err)
				}
				_, _ = proc.Stats(), proc.MarshalLog()
			}
		})
	}
	producing.Wait()
	for range 3 {
		wg.Go(func() {
			if err := proc.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
	wg.Wait()
	_ = tp.Shutdown(context.Background())
	st := proc.Stats()
	checkBooks(t, "processor", st)
	rec := spantest.ReadWhole(t, buf.Bytes())
	rec.CheckBatches(t, false)
	if st.Recorded != producers*each || uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped {
		t.Errorf("%d entries and a loss of %d with %+v", len(rec.Entries), rec.Lost(), st)
	}
}

// observe makes the global MeterProvider one that can be read, and returns what
// reads it: sums and counts by metric and error type.
func observe(t *testing.T) func() map[string]int64 {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	return func() map[string]int64 {
		var rm metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &rm); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		for _, scope := range rm.ScopeMetrics {
			if scope.Scope.Name != optrace.ScopeName {
				continue // the SDK observes itself too
			}
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Sum[int64]:
					for _, p := range data.DataPoints {
						key := m.Name
						if e, ok := p.Attributes.Value("error.type"); ok {
							key += " " + e.AsString()
						}
						got[key] += p.Value
						if n, ok := p.Attributes.Value("otel.component.name"); !ok || n.AsString() == "" {
							t.Errorf("%s has no component name", key)
						}
					}
				case metricdata.Histogram[float64]:
					for _, p := range data.DataPoints {
						got[m.Name] += int64(p.Count)
					}
				}
			}
		}
		return got
	}
}

func TestObservability(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "True")
	read := observe(t)
	fail := false
	var buf bytes.Buffer
	exp, err := optrace.NewExporter(spantest.WriterFunc(func(p []byte) (int, error) {
		if fail {
			return 0, errors.New("disk full")
		}
		return buf.Write(p)
	}))
	if err != nil {
		t.Fatal(err)
	}
	proc, err := optrace.NewProcessor(exp, optrace.WithFlushInterval(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	ops := optrace.NewTracer(tp)
	record := func(n int) {
		for range n {
			_, o := ops.Start(t.Context(), "matmul", "cuda:0")
			o.End()
		}
	}
	record(3)
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	fail = true
	record(2)
	if err := tp.ForceFlush(t.Context()); err == nil {
		t.Error("a flush to a full disk is no error")
	}
	fail = false
	record(1) // in the buffer
	want := map[string]int64{
		"otel.sdk.exporter.span.inflight":              0,
		"otel.sdk.exporter.span.exported":              3,
		"otel.sdk.exporter.span.exported write_failed": 2,
		"otel.sdk.processor.span.queue.size":           1,
		"otel.sdk.processor.span.processed":            3,
		"otel.sdk.processor.span.processed queue_full": 2,
		"optrace.processor.span.forgotten":             0,
		"optrace.processor.operation.unsummed":         0,
	}
	got := read()
	// One write each, or two where both goroutines' buffers held something.
	if n := got["otel.sdk.exporter.operation.duration"]; n < 2 || n > 4 {
		t.Errorf("%d durations of writes, want 2 to 4", n)
	}
	delete(got, "otel.sdk.exporter.operation.duration")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := exp.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 4)); !errors.Is(err, optrace.ErrExporterShutdown) {
		t.Errorf("export after shutdown: %v", err)
	}
	got = read()
	if n := got["otel.sdk.exporter.span.exported already_shutdown"]; n != 4 {
		t.Errorf("%d spans refused after shutdown, want 4", n)
	}
	if _, ok := got["otel.sdk.processor.span.queue.size"]; ok {
		t.Error("a processor is observed after its shutdown")
	}
}

func TestObservabilityOff(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "1")
	read := observe(t)
	exp, err := optrace.NewExporter(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := exp.ExportSpans(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) > 0 {
		t.Errorf("metrics without being asked: %v", got)
	}
}
