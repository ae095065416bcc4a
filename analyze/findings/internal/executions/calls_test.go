package executions_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// fan has calls of a gateway to four shards at the same time. Each shard is 10 away and takes 100; the third takes longer, for
// more rows, and the way to the last is longer.
func fan(requests int, longer, rows, way int64) *trace.Forest {
	f := trace.New()
	for i := range requests {
		in := byte(i + 1)
		end := int64(0)
		for k := range int64(4) {
			there, takes, n := int64(10), int64(100), int64(1000)
			if k == 2 {
				takes += longer
				n += rows
			}
			if k == 3 {
				there += way
			}
			service := fmt.Sprint("shard-", k)
			id := uint64(10 * (k + 1))
			lookup := tracetest.OpAt("lookup", id+2, id+1, there, there+takes).In(in).Of(service).On("cpu").Entry()
			lookup.OutputElements = op.Known(n)
			f.Add(op.Record{Entry: lookup})
			tracetest.AddTo(f, tracetest.SpanAt("call", id, 1, 0, takes+2*there).In(in).Of("gateway"),
				tracetest.SpanAt("Lookup", id+1, id, there, there+takes).In(in).Of(service))
			end = max(end, takes+2*there)
		}
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, end).In(in).Of("gateway"))
	}
	f.Build()
	return f
}

// Calls at the same time cost the way of the last to end, up to the end of the next.
func TestCallsAtTheSameTime(t *testing.T) {
	for name, c := range map[string]struct {
		longer, way int64
		want        executions.Calls
	}{
		"equal": {0, 0, executions.Calls{From: "gateway", To: "shard-0", Count: 3, NS: 60, ThereNS: 30}},
		"far":   {0, 50, executions.Calls{From: "gateway", To: "shard-3", Count: 3, NS: 360, ThereNS: 180}},
		"far, but another is last": {
			200, 50, executions.Calls{From: "gateway", To: "shard-2", Count: 3, NS: 60, ThereNS: 30},
		},
	} {
		check.Equal(t, name, []executions.Calls{c.want}, executions.BetweenServices(fan(3, c.longer, 0, c.way)))
	}
}

// The last service to answer takes a share of the time, for as much or for more work.
func TestLastToAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		longer, rows int64
		want         *executions.Last
	}{
		"slower": {50, 0, &executions.Last{Service: "shard-2", Span: "Lookup", Count: 8, LastIn: 8, Times: 1.5, Work: 1, NS: 400}},
		"more rows": {
			200, 2000, &executions.Last{Service: "shard-2", Span: "Lookup", Count: 8, LastIn: 8, Times: 3, Work: 3, NS: 1600},
		},
	} {
		check.Equal(t, name, c.want, executions.LastOf(fan(8, c.longer, c.rows, 0)))
	}
	f := trace.New()
	for i := range byte(20) { // one service, the last without an operation
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 90).In(i+1).Of("gateway"),
			tracetest.SpanAt("call", 2, 1, 0, 30).In(i+1).Of("gateway"), tracetest.SpanAt("Lookup", 3, 2, 5, 25).In(i+1).Of("shard"),
			tracetest.OpAt("lookup", 4, 3, 5, 25).In(i+1).Of("shard").On("cpu"),
			tracetest.SpanAt("call", 5, 1, 0, 90).In(i+1).Of("gateway"), tracetest.SpanAt("Lookup", 6, 5, 5, 85).In(i+1).Of("shard"))
	}
	f.Build()
	want := &executions.Last{Service: "shard", Span: "Lookup", Count: 20, LastIn: 20, Times: 4, NS: 20 * 60}
	check.Equal(t, "without an operation", want, executions.LastOf(f))
	check.Equal(t, "by chance", (*executions.Last)(nil), executions.LastOf(fan(4, 50, 0, 0)))
}
