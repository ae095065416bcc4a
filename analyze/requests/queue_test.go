package requests_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Time before the first operation is a queue only where a queue is recorded. Otherwise it is the host's.
func TestOnlyARecordedQueueIsAQueue(t *testing.T) {
	span := func(name string, trace, id byte, parent byte, start, end int64, links ...byte) op.Record {
		s := &op.Span{
			Name: name, Service: "api", TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: id},
			ParentSpanID: op.SpanID{7: parent}, Start: op.Known(start), Duration: end - start,
		}
		for _, l := range links {
			s.Links = append(s.Links, op.Link{TraceID: op.TraceID{15: l}, SpanID: op.SpanID{7: l}})
		}
		return op.Record{Span: s}
	}
	work := func(trace, id, parent byte, start, end int64) op.Record {
		return op.Record{Entry: &op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", Service: "api", TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: id},
			ParentSpanID: op.SpanID{7: parent}, Start: op.Known(start), Duration: end - start,
		}}
	}
	elsewhere := work(9, 21, 20, 6, 24)
	elsewhere.Entry.DeviceID = "cuda:1"
	for name, c := range map[string]struct {
		records []op.Record
		want    int64
	}{
		"parsing while another request runs": {[]op.Record{
			span("POST", 1, 1, 0, 0, 100), work(1, 2, 1, 30, 90),
			span("POST", 2, 2, 0, 0, 100), work(2, 3, 2, 0, 30),
		}, 0},
		"a phase": {[]op.Record{
			span("POST", 1, 1, 0, 0, 100), span("prefill_queue", 1, 5, 1, 5, 25), work(1, 2, 1, 30, 90),
		}, 20},
		"a step for others": {[]op.Record{
			span("POST", 1, 1, 0, 10, 100), span("POST", 2, 2, 0, 0, 100), span("POST", 3, 3, 0, 0, 100),
			span("step", 9, 20, 0, 5, 25, 2, 3), work(9, 21, 20, 6, 24),
			span("step", 9, 22, 0, 40, 60, 1, 2), work(9, 23, 22, 42, 58),
		}, 15},
		"a step for others after a span": {[]op.Record{
			span("POST", 1, 1, 0, 10, 100), span("tokenize", 1, 4, 1, 10, 22), span("POST", 2, 2, 0, 0, 100),
			span("step", 9, 20, 0, 5, 25, 2), work(9, 21, 20, 6, 24), span("step", 9, 22, 0, 40, 60, 1), work(9, 23, 22, 42, 58),
		}, 3},
		"a step of a replica": {[]op.Record{
			span("POST", 1, 1, 0, 10, 100), span("POST", 2, 2, 0, 0, 100),
			span("step", 9, 20, 0, 5, 25, 2), elsewhere, span("step", 9, 22, 0, 40, 60, 1), work(9, 23, 22, 42, 58),
		}, 0},
		"a step after the time to parse": {[]op.Record{
			span("POST", 1, 1, 0, 10, 100), span("POST", 2, 2, 0, 0, 100),
			span("step", 9, 22, 0, 40, 60, 1, 2), work(9, 23, 22, 42, 58),
		}, 0},
	} {
		f := trace.New()
		for _, rec := range c.records {
			f.Add(rec)
		}
		all := requests.Find(f)
		for i := range all.List {
			if q := &all.List[i]; q.TraceID[15] == 1 {
				check.Equal(t, name, c.want, all.Queued(q))
			}
		}
	}
	f := tracetest.AddTo(trace.New(), tracetest.SpanAt("POST", 1, 0, 0, 50), tracetest.OpAt("matmul", 9, 1, 5, 50))
	check.Equal(t, "alike", int64(0), requests.AlikeOf(f)[0].QueuedNS)
}

// A queue of an idle engine is a window for batches only beyond the time of the host: as long as requests wait that came
// while the engine worked.
func TestAWindowIsLongerThanTheTimeOfTheHost(t *testing.T) {
	const ms, host, rounds = 1_000_000, 1_000_000, 10
	for _, window := range []int64{0, 3 * ms} {
		f := trace.New()
		serve := func(in byte, arrival, start, end int64) {
			tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, arrival, end).In(in),
				tracetest.SpanAt("queue", 2, 1, arrival, start).In(in),
				tracetest.SpanAt("step", 1, 0, start, end).In(in+100).To(in, 1),
				tracetest.OpAt("mlp", 2, 1, start, end).In(in+100))
		}
		for i := range int64(rounds) {
			at := 50 * i * ms
			start := at + window + host
			serve(byte(1+2*i), at, start, start+8*ms)
			serve(byte(2+2*i), start+ms, start+8*ms+host, start+16*ms+host)
		}
		f.Build()
		check.Equal(t, "beyond the host", rounds*window, requests.AlikeOf(f)[0].IdleNS)
	}
}

// A request whose call failed comes to its engine by the call that repeats it, and before with the span that ends last.
func TestARequestComesByTheCallThatRepeatsAFailedOne(t *testing.T) {
	f := trace.New()
	for in := range byte(2) {
		failed := tracetest.SpanAt("call", 3, 1, 20, 40).In(1 + in).Span()
		failed.Failed = in == 1
		f.Add(op.Record{Span: failed})
		tracetest.AddTo(f,
			tracetest.SpanAt("POST", 1, 0, 0, 100).In(1+in), tracetest.SpanAt("tokenize", 2, 1, 0, 10).In(1+in),
			tracetest.SpanAt("call", 4, 1, 60, 90).In(1+in), tracetest.SpanAt("step", 1, 0, 70, 90).In(3+in).To(1+in, 1))
	}
	f.Build()
	owner := f.RequestOwners()
	first := make(map[int32]int64)
	for _, x := range f.Executions.List {
		first[x.Requests[0]] = f.Start(x.Row)
	}
	came := make(map[byte]int64)
	for r, at := range requests.Came(f, owner, first) {
		came[f.Node(r).TraceID()[15]] = f.Start(at)
	}
	check.Equal(t, "begins", map[byte]int64{1: 20, 2: 60}, came)
}
