package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/optrace/optrace/internal/testing/check"
)

// backend keeps the metrics that are sent to it. It is safe for concurrent use.
type backend struct {
	address string

	mu     sync.Mutex
	byPath map[string][]pmetric.Metrics
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{byPath: make(map[string][]pmetric.Metrics)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := b.take(r.URL.Path, check.Gunzip(t, r.Body)); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
	}))
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "http://")
	return b
}

func (b *backend) take(path string, text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	request := pmetricotlp.NewExportRequest()
	err := request.UnmarshalProto(text)
	b.byPath[path] = append(b.byPath[path], request.Metrics())
	return err
}

// of returns the metrics sent to a path.
func (b *backend) of(path string) []pmetric.Metrics {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byPath[path]
}

func sumOf(all []pmetric.Metrics, name string) (sum float64) {
	for _, ms := range all {
		for _, rm := range ms.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					if m.Name() == name {
						sum += points(m)
					}
				}
			}
		}
	}
	return sum
}

func points(m pmetric.Metric) (sum float64) {
	if m.Type() == pmetric.MetricTypeExponentialHistogram {
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			sum += p.Sum()
		}
		return sum
	}
	for _, p := range m.Sum().DataPoints().All() {
		sum += p.DoubleValue() + float64(p.IntValue())
	}
	return sum
}
