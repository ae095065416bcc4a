// Package metrics serves received operations as Prometheus metrics: a counter and a native histogram by operation,
// device and kind, in a bounded number of series.
package metrics

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// MaxSeries bounds the combinations of operation, device and kind. Further ones share one, with key.Other in all three.
const MaxSeries = 1000

// Metrics are the metrics. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	duration *prometheus.HistogramVec
	memory   *prometheus.CounterVec

	mu     sync.Mutex
	series map[[3]string]bool
}

// New returns metrics without operations.
func New() *Metrics {
	names := []string{"operation", "device", "kind"}
	m := &Metrics{
		registry: prometheus.NewRegistry(), series: make(map[[3]string]bool),
		// A bucket is at most a tenth wider than its predecessor.
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
	l := [3]string{e.Operation, e.DeviceID, e.Kind.String()}
	m.mu.Lock()
	if len(m.series) < MaxSeries {
		m.series[l] = true
	} else if !m.series[l] {
		l = [3]string{key.Other, key.Other, key.Other}
	}
	m.mu.Unlock()
	m.duration.WithLabelValues(l[:]...).Observe(float64(e.Duration) / 1e9)
	bytes := m.memory.WithLabelValues(l[:]...)
	if e.MemoryBytes.Known {
		bytes.Add(float64(max(0, e.MemoryBytes.V)))
	}
}

// ServeHTTP answers a scrape. Only the protobuf form, requested by scrape_native_histograms, has native histograms; the
// text form has counts and sums.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}).ServeHTTP(w, r)
}
