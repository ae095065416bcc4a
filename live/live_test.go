package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/live"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newProcessor(tb testing.TB, opts ...live.Option) *live.Processor {
	tb.Helper()
	return check.Must(live.NewProcessor(opts...))(tb)
}

func provider(processors ...sdktrace.SpanProcessor) *sdktrace.TracerProvider {
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "trainer"), attribute.String("host.name", "node-1")))}
	for _, p := range processors {
		options = append(options, sdktrace.WithSpanProcessor(p))
	}
	return sdktrace.NewTracerProvider(options...)
}

// recordSome records operations below requests, with every kind of irregularity.
func recordSome(tp trace.TracerProvider, n int) {
	tr := tp.Tracer("engine")
	start := time.Unix(1_700_000_000, 0)
	for i := range n {
		at := start.Add(time.Duration(i) * time.Millisecond)
		ctx, request := tr.Start(context.Background(), "POST /", trace.WithTimestamp(at))
		for k, name := range []string{"embed", "matmul", "allreduce", "copy"} {
			from := at.Add(time.Duration(100*k) * time.Microsecond)
			_, o := tr.Start(ctx, name, trace.WithTimestamp(from))
			attrs := []attribute.KeyValue{tensorconv.OpName(name), tensorconv.DeviceID(fmt.Sprint("fpga:", i%3)),
				tensorconv.Step(int64(i / 10)),
				tensorconv.InputShapes([]int64{64, int64(k)}), tensorconv.OutputShape(64), tensorconv.DType(op.F32)}
			end := from.Add(time.Duration(50+i) * time.Microsecond)
			switch {
			case i%17 == 3:
				o.SetStatus(codes.Error, "bad")
			case i%17 == 4:
				end = from.Add(-time.Second)
			case i%17 == 5:
				attrs = attrs[:1]
			case i%17 == 6:
				o.AddLink(trace.Link{SpanContext: request.SpanContext()})
			case i%17 == 7:
				attrs = append(attrs, attribute.String("tensor.input.shapes", "{"), attribute.Int("unknown", i))
			}
			o.SetAttributes(attrs...)
			o.End(trace.WithTimestamp(end))
		}
		request.End(trace.WithTimestamp(at.Add(900 * time.Microsecond)))
	}
}

func get(t *testing.T, p *live.Processor, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/optrace/"+path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// asMap returns a report without the description of its input.
func asMap(t *testing.T, text string) map[string]any {
	t.Helper()
	var r map[string]any
	check.OK(t, json.Unmarshal([]byte(text), &r))
	for _, key := range []string{"files", "format", "bytes"} {
		delete(r["input"].(map[string]any), key)
	}
	return r
}

// Reports in the process equal reports on a file of the same spans.
func TestReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	exp := check.Must(optrace.NewFileExporter(path))(t)
	file := check.Must(optrace.NewProcessor(exp))(t)
	p := newProcessor(t)
	tp := provider(p, file)
	recordSome(tp, 300)
	check.OK(t, tp.Shutdown(t.Context()))
	want := check.Must(analyze.Run(t.Context(), ingest.Open(path), analyze.Options{}))(t)
	offline := asMap(t, string(check.Must(json.Marshal(want))(t)))
	served := asMap(t, get(t, p, "?format=json"))
	for _, lists := range []string{"slowest", "memory"} { // equal ones come in another order
		delete(offline, lists)
		delete(served, lists)
	}
	check.Equal(t, "latest operations: live against file", offline, served)
	check.Equal(t, "operations", 1200, want.Input.Entries)

	sums := check.Must(analyze.Run(t.Context(), ingest.Open(path),
		analyze.Options{SumsOnly: true, RecordedFLOPs: true}))(t)
	for name, r := range map[string]*analyze.Report{"Report": p.Report(),
		"JSON": decode(t, get(t, p, "?format=json&since=start"))} {
		check.Equal(t, fmt.Sprintf("%s: total: live against file", name), sums.Total, r.Total)
		for i := range sums.Operations { // the slowest of equal ones may be another
			sums.Operations[i].Exemplar = nil
			r.Operations[i].Exemplar = nil
		}
		check.Equal(t, fmt.Sprintf("%s: operations: live against file", name), sums.Operations, r.Operations)
	}
}

func decode(t *testing.T, text string) *analyze.Report {
	t.Helper()
	var r analyze.Report
	check.OK(t, json.Unmarshal([]byte(text), &r))
	return &r
}

func TestPage(t *testing.T) {
	p := newProcessor(t, live.WithWindow(100, time.Hour))
	tp := provider(p)
	recordSome(tp, 5)
	if text := get(t, p, ""); !strings.Contains(text, "20 operations in 25 spans") {
		t.Errorf("page:\n%.2000s", text)
	}
	recordSome(tp, 100)
	check.Equal(t, "operations since the start", 420, p.Report().Total.Count)
	check.OK(t, p.Shutdown(t.Context()))
	recordSome(tp, 10)
	check.Equal(t, "operations after Shutdown", 420, p.Report().Total.Count)
	check.OK(t, errors.Join(p.Shutdown(t.Context()), p.ForceFlush(t.Context())))
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]live.Option{
		"window": live.WithWindow(0, 0),
		"age":    live.WithWindow(5, -1),
	} {
		_, err := live.NewProcessor(o)
		check.Says(t, name, "", err)
	}
	p := newProcessor(t, nil, live.WithMapping(nil))
	recordSome(provider(p), 1)
	check.OK(t, p.Shutdown(t.Context()))
}

func TestMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(6),
		sdkmetric.WithView(sdkmetric.NewView(
			sdkmetric.Instrument{Name: "tensor.op.duration"},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})))
	p := newProcessor(t, live.WithMeterProvider(mp))
	recordSome(provider(p), 300)
	var rm metricdata.ResourceMetrics
	check.OK(t, reader.Collect(t.Context(), &rm))
	total := p.Report().Total
	seen := make(map[string]bool)
	for _, m := range rm.ScopeMetrics[0].Metrics {
		seen[m.Name] = true
		switch data := m.Data.(type) {
		case metricdata.ExponentialHistogram[float64]:
			count := uint64(0)
			sum := 0.0
			exemplars := 0
			for _, point := range data.DataPoints {
				count += point.Count
				sum += point.Sum
				for _, e := range point.Exemplars {
					if len(e.TraceID) == 16 && len(e.SpanID) == 8 {
						exemplars++
					}
				}
			}
			if count != uint64(total.Count) || int64(sum*1e6+0.5) != total.SumNS/1000 || exemplars == 0 ||
				len(data.DataPoints) != 6 {
				t.Errorf("%d operations of %v s in %d series, %d exemplars; the report has %+v", count, sum,
					len(data.DataPoints), exemplars, total)
			}
		case metricdata.Sum[int64]:
			sum := int64(0)
			for _, point := range data.DataPoints {
				sum += point.Value
			}
			check.Equal(t, m.Name, map[string]int64{"tensor.op.memory": total.MemoryBytes.V}[m.Name], sum)
		default:
			t.Errorf("%s is a %T", m.Name, data)
		}
	}
	if len(seen) != 3 {
		t.Errorf("metrics %v", seen)
	}
	check.OK(t, p.Shutdown(t.Context()))
}

// Spans end in many goroutines while the page is read.
func TestOnEndConcurrentSafe(t *testing.T) {
	p := newProcessor(t, live.WithWindow(200, 0))
	tp := provider(p)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { recordSome(tp, 50) })
		wg.Go(func() {
			for _, path := range []string{"", "data", "?format=json", "?format=json&since=start", "trace.json"} {
				if text := get(t, p, path); text == "" {
					t.Errorf("%s: empty", path)
				}
			}
		})
	}
	wg.Wait()
	check.Equal(t, "operations", 4*50*4, p.Report().Total.Count)
	if r := decode(t, get(t, p, "?format=json")); r.Input.Spans > 200 {
		t.Errorf("the window holds %d", r.Input.Spans)
	}
}

// For any number of operations and devices, the report has a bounded number of rows, and complete sums.
func TestRowsAreBounded(t *testing.T) {
	p := newProcessor(t)
	tp := provider(p)
	defer func() { check.OK(t, tp.Shutdown(context.Background())) }()
	const n, most = 12_000, 10_001 // with the row of all others
	tr := tp.Tracer("engine")
	for i := range n {
		name := fmt.Sprint("op", i, strings.Repeat("n", 300))
		_, s := tr.Start(t.Context(), name, trace.WithAttributes(tensorconv.OpName(name),
			tensorconv.DeviceID(fmt.Sprint("cuda:", i))))
		s.End()
	}
	r := p.Report()
	count := int64(0)
	for _, row := range r.Operations {
		count += row.Count
		if len(row.Operation) > 270 {
			t.Fatalf("a name of %d bytes", len(row.Operation))
		}
	}
	if count != n || len(r.Operations) > most || len(r.Devices) > most {
		t.Errorf("%d operations of %d in %d rows, %d devices", count, n, len(r.Operations), len(r.Devices))
	}
}
