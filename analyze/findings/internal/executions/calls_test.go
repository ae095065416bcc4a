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
		"equal":                    {0, 0, executions.Calls{From: "gateway", To: "shard-0", Count: 3, NS: 60, ThereNS: 30}},
		"far":                      {0, 50, executions.Calls{From: "gateway", To: "shard-3", Count: 3, NS: 360, ThereNS: 180}},
		"far, but another is last": {200, 50, executions.Calls{From: "gateway", To: "shard-2", Count: 3, NS: 60, ThereNS: 30}},
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
		"slower":    {50, 0, &executions.Last{Service: "shard-2", Span: "Lookup", Count: 5, LastIn: 5, Times: 1.5, Work: 1, NS: 250}},
		"more rows": {200, 2000, &executions.Last{Service: "shard-2", Span: "Lookup", Count: 5, LastIn: 5, Times: 3, Work: 3, NS: 1000}},
	} {
		check.Equal(t, name, c.want, executions.LastOf(fan(5, c.longer, c.rows, 0)))
	}
}
