package optraceconnector

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/check"
)

// decoded returns spans as a receiver has them.
func decoded(b *testing.B) (all []ptrace.Traces, spans int) {
	b.Helper()
	var u ptrace.ProtoUnmarshaler
	for _, td := range pdatatest.Training(1, 8, 100) {
		text := check.Must(pdatatest.Proto(td))(b)
		td := check.Must(u.UnmarshalTraces(text))(b)
		all, spans = append(all, td), spans+td.SpanCount()
	}
	return all, spans
}

func BenchmarkMetrics(b *testing.B) {
	all, spans := decoded(b)
	c := newTestConnector(nil)
	b.ReportAllocs()
	for b.Loop() {
		for _, td := range all {
			check.OK(b, c.ConsumeTraces(b.Context(), td))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(spans), "ns/span")
}
