package stdouttrace_test

import (
	"bytes"
	"testing"

	exporter "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// TestConformance prints the cases with the exporter, on lines and indented.
func TestConformance(t *testing.T) {
	for name, opts := range map[string][]exporter.Option{"lines": nil, "indented": {exporter.WithPrettyPrint()}} {
		t.Run(name, func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
				if c.Has("InvalidUTF8", "NonFinite") {
					t.Skip("JSON cannot hold the span")
				}
				var out bytes.Buffer
				exp := check.Must(exporter.New(append(opts, exporter.WithWriter(&out))...))(t)
				check.OK(t, exp.ExportSpans(t.Context(), tracetest.SpanStubs{c.Stub(t)}.Snapshots()))
				for rec, err := range stdouttrace.Records(&out, "output", nil) {
					check.OK(t, err)
					if rec.Entry != nil {
						return rec.Entry.Clone(), true
					}
				}
				return nil, false
			})
		})
	}
}
