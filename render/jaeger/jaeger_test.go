package jaeger_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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
	const start = 1795224124978150999
	first, second := op.TraceID{15: 1}, op.TraceID{0: 0xab, 15: 2}
	text := write(t, func(to *jaeger.Traces) {
		to.Resource(&op.Resource{Service: "trainer", Rank: op.Known(0), WorldSize: op.Known(2),
			Attrs: []op.Attr{{Key: "host.name", Value: "h0"}}})
		to.AddSpan(&op.Span{Name: "step", TraceID: first, SpanID: op.SpanID{7: 1}, Start: op.Known(start),
			Duration: 5_000_999, Service: "trainer"})
		to.Add(&op.Entry{
			Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, TraceID: first,
			SpanID: op.SpanID{7: 2}, ParentSpanID: op.SpanID{7: 1}, Start: op.Known(start), Duration: 1_999,
			Service: "trainer", Rank: op.Known(0), Scope: "engine", DeviceID: "cuda:0", DType: "f32",
			InputShapes: []op.Shape{{64, 784}, {784, 256}}, InputDTypes: []op.DType{"f32", "f32"},
			OutputShape: op.Shape{64, 256}, OutputElements: op.Known(16384), MemoryBytes: op.Known(65536),
			FLOPs: op.Known(1<<53 + 1),
		})
		to.Resource(&op.Resource{Service: "trainer", Rank: op.Known(1), WorldSize: op.Known(2)})
		to.AddSpan(&op.Span{Name: "POST /", TraceID: second, SpanID: op.SpanID{7: 3}, ParentSpanID: op.SpanID{7: 9},
			RemoteParent: true, Start: op.Known(start), Duration: 600, Failed: true})
		to.Add(&op.Entry{
			Operation: "all_reduce", Kind: op.KindCollective, KindRule: op.RuleName, TraceID: first,
			SpanID: op.SpanID{7: 4}, ParentSpanID: op.SpanID{7: 1}, Start: op.Known(start), Duration: 600,
			Service: "trainer", Rank: op.Known(1), Failed: true, Error: "peer lost",
		})
		to.Add(&op.Entry{Operation: "relu", Kind: op.KindCompute, KindRule: op.RuleDefault, Duration: 100_125,
			Warn: op.WarnNoStart})
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
