// Package metrics has the operations that a server receives as metrics for Prometheus: a counter and a native histogram by
// operation, device and kind, in a bounded number of series.
package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// MaxSeries is how many combinations of operation, device and kind have series of their own. Further ones share one, with
// key.Other in all three.
const MaxSeries = 1000

// Metrics are the metrics. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	duration *prometheus.HistogramVec
	memory   *prometheus.CounterVec

	mu     sync.Mutex
	series map[labels]*series
}

type labels struct{ operation, device, kind string }

type series struct {
	duration prometheus.Observer
	memory   prometheus.Counter
}

// New returns metrics without operations.
func New() *Metrics {
	names := []string{"operation", "device", "kind"}
	m := &Metrics{
		registry: prometheus.NewRegistry(), series: make(map[labels]*series),
		// A bucket is at most a tenth wider than the one before it.
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tensor_op_duration_seconds", Help: "Duration of tensor operations.",
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, Buckets: []float64{},
		}, names),
		memory: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tensor_op_memory_bytes_total", Help: "Memory that tensor operations state.",
		}, names),
	}
	m.registry.MustRegister(m.duration, m.memory)
	return m
}

// Observe counts an operation.
func (m *Metrics) Observe(e *op.Entry) {
	s := m.of(labels{e.Operation, e.DeviceID, e.Kind.String()})
	s.duration.Observe(float64(e.Duration) / 1e9)
	if e.MemoryBytes.Known {
		s.memory.Add(float64(max(0, e.MemoryBytes.V)))
	}
}

func (m *Metrics) of(l labels) *series {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.series) >= MaxSeries && m.series[l] == nil {
		l = labels{key.Other, key.Other, key.Other}
	}
	s := m.series[l]
	if s == nil {
		s = &series{m.duration.WithLabelValues(l.operation, l.device, l.kind), m.memory.WithLabelValues(l.operation, l.device, l.kind)}
		m.series[l] = s
	}
	return s
}

// ServeHTTP answers a scrape. Native histograms are in the protobuf form only, which Prometheus asks for with
// scrape_native_histograms; the text has their counts and sums.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}).ServeHTTP(w, r)
}
