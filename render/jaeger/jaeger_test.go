package jaeger_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/jaeger"
)

// write returns the output for the records added by add.
func write(t *testing.T, add func(*jaeger.Traces)) []byte {
	t.Helper()
	var traces jaeger.Traces
	add(&traces)
	var b bytes.Buffer
	check.OK(t, traces.Write(&b))
	return b.Bytes()
}

// Two interleaved traces with a changing resource, a request around an operation, a failure and an operation without
// ids.
func TestGolden(t *testing.T) {
	text := write(t, func(to *jaeger.Traces) {
		for _, rec := range recordtest.File(t, "testdata/records.jsonl") {
			switch {
			case rec.Resource != nil:
				to.Resource(rec.Resource)
			case rec.Span != nil:
				to.AddSpan(rec.Span)
			default:
				to.Add(rec.Entry)
			}
		}
	})
	golden.Check(t, "testdata/traces.golden", text)
}

// Attributes cannot replace the fields of a span.
func TestReservedAttributes(t *testing.T) {
	e := &op.Entry{Operation: "op", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, Start: op.Known(5000)}
	want := string(write(t, func(to *jaeger.Traces) { to.Add(e) }))
	e.Attrs = []op.Attr{
		{Key: "error", Value: "true"}, {Key: "otel.status_code", Value: "ERROR"},
		{Key: "otel.status_description", Value: "x"}, {Key: "otel.scope.name", Value: "x"},
		{Key: "otel.library.name", Value: "x"}, {Key: "span.kind", Value: "server"},
		{Key: "w3c.tracestate", Value: "ot=th:8"}, {Key: "otel.dropped_attributes_count", Value: "5"},
	}
	check.Equal(t, "", want, string(write(t, func(to *jaeger.Traces) { to.Add(e) })))
}
