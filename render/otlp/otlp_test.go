package otlp_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// Batches are bounded, and each has the resource's attributes.
func TestBatches(t *testing.T) {
	var b bytes.Buffer
	w := otlp.NewWriter(&b)
	check.OK(t, w.Flush())
	check.Equal(t, "bytes of nothing", 0, b.Len())
	check.OK(t, w.Resource(&op.Resource{Service: "svc", Attrs: []op.Attr{{Key: "host.name", Value: "h1"}}}))
	e := &op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: op.TraceID{1},
		SpanID: op.SpanID{2}, Start: op.Known(1), Service: "svc"}
	for range 1100 {
		check.OK(t, w.Entry(e))
	}
	check.OK(t, w.Flush())
	text := b.String()
	if lines := strings.Count(text, "\n"); lines != 3 || strings.Count(text, `"host.name"`) != 3 {
		t.Errorf("%d lines", lines)
	}
	check.Equal(t, "spans", 1100, strings.Count(text, `"spanId"`))
}
