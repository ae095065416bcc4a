package copies_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/copies"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Transfers from engine to engine are told from copies in front of the first execution, from waits, and from spans
// around all executions. A span that is read twice counts once.
func TestHandOvers(t *testing.T) {
	f := trace.New()
	for i := range int64(6) {
		in := byte(i + 1)
		at := 100 * i
		step := func(number byte, service string, start, end int64) {
			tracetest.AddTo(f, tracetest.SpanAt("step", 1, 0, at+start, at+end).In(number+2*in).Of(service).To(in, 1),
				tracetest.OpAt("mlp", 2, 1, at+start, at+end).In(number+2*in).Of(service).On(service))
		}
		step(20, "prefill", 10, 30)
		step(21, "decode", 80, 90)
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, at, at+95).In(in),
			tracetest.SpanAt("generate", 2, 1, at+12, at+95).In(in),
			tracetest.SpanAt("send", 3, 1, at+32, at+60).In(in),
			tracetest.SpanAt("send", 3, 1, at+32, at+60).In(in),
			tracetest.SpanAt("queue", 4, 1, at+60, at+80).In(in),
			tracetest.OpAt("upload", 5, 1, at, at+9).In(in).As(op.KindMemory).Writing(8),
			tracetest.OpAt("kv", 6, 1, at+28, at+70).In(in).As(op.KindMemory).Writing(1000))
	}
	f.Build()
	check.Equal(t, "hand-overs", []copies.HandOver{
		{Name: "kv", Requests: 6, Calls: 6, NS: 252, Bytes: 6000, BetweenNS: 240},
		{Name: "send", IsSpan: true, Requests: 6, Calls: 6, NS: 168, BetweenNS: 168},
	}, copies.HandOvers(f))
}
