package otlp_test

import (
	"bytes"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	ingest "github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// The readers of package ingest/otlp read the spans of the cases as OpenTelemetry's exporter sends them.
func TestConformance(t *testing.T) {
	// The libraries refuse text that is no UTF-8, so that something as long stands for it.
	const standIn, invalid = "a\x7fb", "a\xffb"
	for name, read := range map[string]recordtest.ReadFunc{"JSON": ingest.JSONRecords, "protobuf": ingest.ProtoRecords} {
		t.Run(name, func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (entry *op.Entry, ok bool) {
				for i, a := range c.Span.Attributes {
					if text, ok := a.Value.(string); ok {
						c.Span.Attributes[i].Value = strings.ReplaceAll(text, invalid, standIn)
					}
				}
				client := new(spantest.OTLPClient)
				spans := tracetest.SpanStubs{spantest.Case(t, c.Span)}.Snapshots()
				check.OK(t, otlptrace.NewUnstarted(client).ExportSpans(t.Context(), spans))
				td := &tracepb.TracesData{ResourceSpans: client.Sent}
				message := spantest.MarshalJSON(t, td)
				if name == "protobuf" {
					message = check.Must(proto.Marshal(td))(t)
				}
				message = bytes.ReplaceAll(message, []byte(standIn), []byte(invalid))
				for rec, err := range read(bytes.NewReader(message), "case", nil) {
					check.OK(t, err)
					if rec.Entry != nil {
						entry = rec.Entry.Clone()
					}
				}
				return entry, entry != nil
			})
		})
	}
}
