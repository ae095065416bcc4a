package optraceconnector

import (
	"testing"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/testing/check"
)

func BenchmarkConnector(b *testing.B) {
	traces := pdatatest.Training(b, 1, 2, 50)
	c := newTestConnector(nil)
	spans := 0
	for _, td := range traces {
		spans += td.SpanCount()
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, td := range traces {
			check.OK(b, c.ConsumeTraces(b.Context(), td))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans), "ns/span")
}
