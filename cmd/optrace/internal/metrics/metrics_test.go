package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/live"
	"github.com/optrace/optrace/op"
)

// scrape returns the families by name, scraped as Prometheus does.
func scrape(t *testing.T, m http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, request)
	families := make(map[string]*dto.MetricFamily)
	decoder := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header()))
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); err == io.EOF {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}

// Counts, sums and the buckets of native histograms match the operations.
func TestMetrics(t *testing.T) {
	m := New()
	for i := range 100 {
		m.Observe(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Kind: op.KindCompute, Duration: int64(i+1) * 1e6,
			MemoryBytes: op.Known(10)})
	}
	m.Observe(&op.Entry{Operation: "relu", Duration: 0})
	families := scrape(t, m)
	durations := families["tensor_op_duration_seconds"].GetMetric()
	if len(durations) != 2 {
		t.Fatalf("%d series", len(durations))
	}
	for _, d := range durations {
		h := d.GetHistogram()
		text := fmt.Sprint(d.GetLabel())
		switch {
		case strings.Contains(text, "matmul"):
			if !strings.Contains(text, "gpu:0") || !strings.Contains(text, "compute") {
				t.Error(text)
			}
			if h.GetSampleCount() != 100 || math.Abs(h.GetSampleSum()-5.05) > 1e-9 || h.GetSchema() != 3 {
				t.Errorf("%d, %g s, schema %d", h.GetSampleCount(), h.GetSampleSum(), h.GetSchema())
			}
			all, n := int64(0), int64(0) // the buckets are deltas
			for _, delta := range h.GetPositiveDelta() {
				n += delta
				all += n
			}
			check.Equal(t, "in the buckets", 100, all)
		case h.GetZeroCount() != 1:
			t.Errorf("%v", d)
		}
	}
	memory := 0.0
	for _, c := range families["tensor_op_memory_bytes_total"].GetMetric() {
		memory += c.GetCounter().GetValue()
	}
	check.Equal(t, "bytes", 1000, memory)
}

// The dashboard uses existing metrics.
func TestDashboard(t *testing.T) {
	text := check.Must(os.ReadFile("../../../../docs/grafana.json"))(t)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) == 0 {
		t.Fatalf("%d panels, error %v", len(board.Panels), err)
	}
	m := New()
	m.Observe(&op.Entry{Operation: "matmul", MemoryBytes: op.Known(1)})
	families := scrape(t, m)
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`tensor_op_\w+`).FindAllString(target.Expr, -1) {
				if families[name] == nil {
					t.Errorf("%s: no metric %s", panel.Title, name)
				}
			}
		}
	}
}

// The number of series is bounded, and further operations still count.
func TestSeriesAreBoundedConcurrentSafe(t *testing.T) {
	m := New()
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range MaxSeries {
				m.Observe(&op.Entry{Operation: fmt.Sprint("op", w%2, "_", i), Duration: 1000})
			}
		})
	}
	workers.Wait()
	series := 0
	count := uint64(0)
	for _, d := range scrape(t, m)["tensor_op_duration_seconds"].GetMetric() {
		series++
		count += d.GetHistogram().GetSampleCount()
	}
	if series != MaxSeries+1 || count != 4*MaxSeries {
		t.Errorf("%d series with %d operations", series, count)
	}
}

// Package live's metrics can be scraped with OpenTelemetry's exporter, as in docs/using.md.
func TestLive(t *testing.T) {
	registry := prometheus.NewRegistry()
	reader := check.Must(exporter.New(exporter.WithRegisterer(registry)))(t)
	native := sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}}
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "tensor.op.duration"}, native)))
	lp := check.Must(live.NewProcessor(live.WithMeterProvider(mp)))(t)
	tr := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(lp)))
	for range 3 {
		_, o := tr.Start(t.Context(), "matmul", "cuda:0")
		o.End()
	}
	durations := scrape(t,
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))["tensor_op_duration_seconds"].GetMetric()
	if len(durations) != 1 || durations[0].GetHistogram().GetSampleCount() != 3 ||
		len(durations[0].GetHistogram().GetPositiveSpan()) == 0 {
		t.Errorf("the durations are %v", durations)
	}
}
