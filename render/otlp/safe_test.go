package otlp_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// A span that is its own parent, as a damaged file may have it, does not reach
// a tracing backend as such.
func TestNoSpanIsItsOwnParent(t *testing.T) {
	var out bytes.Buffer
	w := otlp.NewWriter(&out)
	id := op.SpanID{7: 0xaa}
	if err := w.Entry(&op.Entry{Operation: "relu", TraceID: op.TraceID{15: 1}, SpanID: id, ParentSpanID: id}); err != nil {
		t.Fatal(err)
	}
	if err := w.Span(&op.Span{Name: "request", TraceID: op.TraceID{15: 1}, SpanID: id, ParentSpanID: id}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "parentSpanId") || strings.Count(text, `"spanId":"00000000000000aa"`) != 2 {
		t.Errorf("written %s", text)
	}
}
