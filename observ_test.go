package optrace_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

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
