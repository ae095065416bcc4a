package otlp_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// write returns what the records are written as.
func write(t *testing.T, records ...op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := otlp.NewWriter(&b)
	for _, rec := range records {
		var err error
		switch {
		case rec.Entry != nil:
			err = w.Entry(rec.Entry)
		case rec.Span != nil:
			err = w.Span(rec.Span)
		case rec.Resource != nil:
			err = w.Resource(rec.Resource)
		}
		check.OK(t, err)
	}
	check.OK(t, w.Flush())
	return b.Bytes()
}

// Batches are bounded, and a resource's attributes are on each.
func TestBatches(t *testing.T) {
	records := []op.Record{{Resource: &op.Resource{Service: "svc", Attrs: []op.Attr{{Key: "host.name", Value: "h1"}}}}}
	e := &op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: op.TraceID{1}, SpanID: op.SpanID{2},
		Start: op.Known(1), Service: "svc"}
	for range 1100 {
		records = append(records, op.Record{Entry: e})
	}
	text := string(write(t, records...))
	if lines := strings.Count(text, "\n"); lines != 3 || strings.Count(text, `"host.name"`) != 3 {
		t.Errorf("%d lines", lines)
	}
	check.Equal(t, "spans", 1100, strings.Count(text, `"spanId"`))
	if text := write(t); len(text) > 0 {
		t.Errorf("nothing is written as %q", text)
	}
}

// A span that is its own parent, as a damaged file may have it, does not reach
// a tracing backend as such.
func TestNoSpanIsItsOwnParent(t *testing.T) {
	trace, id := op.TraceID{15: 1}, op.SpanID{7: 0xaa}
	text := string(write(t,
		op.Record{Entry: &op.Entry{Operation: "relu", TraceID: trace, SpanID: id, ParentSpanID: id}},
		op.Record{Span: &op.Span{Name: "request", TraceID: trace, SpanID: id, ParentSpanID: id}},
	))
	if strings.Contains(text, "parentSpanId") || strings.Count(text, `"spanId":"00000000000000aa"`) != 2 {
		t.Errorf("written %s", text)
	}
}
