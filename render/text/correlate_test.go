package text_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// correlated returns a join with content for every section.
func correlated(jaeger string) *correlate.Report {
	j := correlate.NewJoin()
	for i := range byte(5) {
		id := op.TraceID{15: i + 1}
		slow := int64(1)
		if i == 2 {
			slow = 5
		}
		request := op.Record{Span: &op.Span{
			Name: "POST " + hostile, Service: "api", TraceID: id, SpanID: op.SpanID{7: 1},
			Start: op.Known(1795224124000000000), Duration: slow * 1_000_000,
		}}
		long := op.Record{Entry: &op.Entry{
			Operation: hostile, Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(0), TraceID: id,
			SpanID: op.SpanID{7: 2}, ParentSpanID: op.SpanID{7: 1},
			Start: op.Known(1795224124000100000), Duration: slow * 800_000,
		}}
		short := op.Record{Entry: &op.Entry{
			Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(1), TraceID: id,
			SpanID: op.SpanID{7: 3}, ParentSpanID: op.SpanID{7: 1}, Start: op.Known(1795224124000900000), Duration: 600,
		}}
		j.AddLocal(long)
		j.AddLocal(short)
		j.AddLocal(op.Record{Entry: &op.Entry{Operation: "warmup", Kind: op.KindCompute, TraceID: id,
			SpanID: op.SpanID{7: 9}, Duration: 7}})
		if jaeger == "" {
			j.AddLocal(request)
			continue
		}
		j.AddService(request)
		j.AddService(long)
		if i == 0 {
			j.AddPruned(op.Pruned{TraceID: id, SpanID: op.SpanID{7: 1}, Operation: "relu", DeviceID: "cuda:0", Count: 3,
				Duration: 1800})
		}
	}
	r := j.Report(correlate.Options{Jaeger: jaeger})
	r.Input = &analyze.Envelope{Files: 1, Bytes: 2048, Entries: 15, Truncated: 1}
	if jaeger != "" {
		r.LeftOut = correlate.LeftOut{Requests: 1, Ops: 2}
		r.Service = &correlate.Service{
			API: "v1", Traces: 5, AtLimit: true, NotThere: 1, NotAsked: 2,
			Envelope: analyze.Envelope{Entries: 5, Skipped: 5, Malformed: 1,
				Problems: []string{"http://jaeger: " + hostile}},
		}
	}
	return r
}

func TestCorrelationGolden(t *testing.T) {
	of := func(r *correlate.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.WriteCorrelation(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"correlate_80": of(correlated("http://jaeger:16686"), text.Options{Top: 2, Width: 80, Rows: 2}),
		"correlate_links": of(correlated("http://jaeger:16686"),
			text.Options{Top: 2, Width: 120, Color: true, Hyperlinks: true}),
		"correlate_joined":  of(correlated("http://jaeger:16686"), text.Options{Top: 2}),
		"correlate_offline": of(correlated(""), text.Options{Top: 10}),
		"correlate_color":   of(correlated(""), text.Options{Color: true}),
		"correlate_empty":   of(correlate.NewJoin().Report(correlate.Options{}), text.Options{Top: 10}),
	})
}

// Many endpoints do not make a long text, and those without operations are only listed.
func TestCorrelationManyEndpoints(t *testing.T) {
	j := correlate.NewJoin()
	for i := range byte(9) {
		request := op.Span{Name: "GET /" + string('a'+rune(i)), TraceID: op.TraceID{i + 1}, SpanID: op.SpanID{1},
			Start:    op.Known(0),
			Duration: 1000}
		j.AddLocal(op.Record{Span: &request})
		if i > 0 {
			j.AddLocal(op.Record{Entry: &op.Entry{Operation: "relu", TraceID: request.TraceID, SpanID: op.SpanID{2},
				ParentSpanID: op.SpanID{1},
				Start:        op.Known(0), Duration: 1}})
		}
	}
	var b bytes.Buffer
	check.OK(t, text.WriteCorrelation(&b, j.Report(correlate.Options{}), text.Options{}))
	if n := strings.Count(b.String(), "CRITICAL PATH"); n != 5 ||
		strings.Contains(b.String(), "CRITICAL PATH of GET /a") ||
		!strings.Contains(b.String(), "… and 3 more endpoints with operations, which took less time") {
		t.Errorf("%d endpoints in detail:\n%s", n, b.String())
	}
}
