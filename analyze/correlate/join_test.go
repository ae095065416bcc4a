package correlate_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

const address = "http://jaeger:16686"

// predict is a request with an operation missing on each side, and an operation without a request.
var predict = []span{
	{tracetest.SpanAt("POST /predict", 1, 0, 0, 100).Of("api"), both},
	{tracetest.SpanAt("inference", 2, 1, 5, 95), both},
	{tracetest.OpAt("matmul", 3, 2, 10, 50), both},
	{tracetest.OpAt("relu", 4, 2, 50, 55), local},
	{tracetest.OpAt("softmax", 5, 2, 60, 90), service},
	{tracetest.SpanAt("SELECT", 6, 1, 96, 98), service},
	{tracetest.OpAt("warmup", 7, 0, 0, 7).In(2), local},
}

func TestReport(t *testing.T) {
	got := join(predict).Report(correlate.Options{Jaeger: address + "/"})
	golden.JSON(t, "testdata/predict.json", got)
}

// Requests and shared executions have the errors of their operations. Records held by both sides count once.
func TestReportHasErrorsOnce(t *testing.T) {
	j := correlate.NewJoin()
	request := tracetest.SpanAt("POST /a", 1, 0, 0, 50).Span()
	request.Failed = true
	request.Extra = &op.Extra{Message: "status 500"}
	shared := tracetest.SpanAt("step", 1, 0, 10, 41).In(2).To(1, 1).Span()
	add := func(r op.Record) {
		j.AddLocal(r)
		j.AddService(r)
	}
	failing := func(s tracetest.Spec, text string) op.Record {
		e := s.Entry()
		e.Failed = true
		e.Error = text
		return op.Record{Entry: e}
	}
	add(op.Record{Span: request})
	add(op.Record{Span: shared})
	add(failing(tracetest.OpAt("matmul", 2, 1, 5, 9), "out of memory"))
	add(failing(tracetest.OpAt("matmul", 3, 1, 15, 19), "out of memory"))
	add(failing(tracetest.OpAt("all_reduce", 2, 1, 15, 19).In(2), ""))
	r := j.Report(correlate.Options{})
	q := r.Requests[0]
	check.Equal(t, "error of the request", "status 500 true", fmt.Sprint(q.Error, " ", q.Failed))
	check.Equal(t, "errors of the request", []profile.Error{{
		Text: "out of memory", Operation: "matmul", Count: 2,
		First: profile.Occurrence{TraceID: traceOf(1), SpanID: idOf(2), StartNS: op.Known(5)},
	}}, q.Errors)
	check.Equal(t, "errors of the execution", []profile.Error{{
		Operation: "all_reduce", Count: 1,
		First: profile.Occurrence{TraceID: traceOf(2), SpanID: idOf(2), StartNS: op.Known(15)},
	}}, r.Shared[0].Errors)
}

// Either side may be absent. Its spans then do not count as missing.
func TestEitherSideMayBeAbsent(t *testing.T) {
	for name, tc := range map[string]struct {
		side    side
		address string
		links   bool
	}{
		"local":                       {side: local},
		"service":                     {side: service, address: address, links: true},
		"local, Jaeger knows nothing": {side: local, address: address, links: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := join(moved(predict, tc.side)).Report(correlate.Options{Jaeger: tc.address})
			if len(r.Requests) != 1 || r.Requests[0].Ops != 3 {
				t.Fatalf("requests %+v", r.Requests)
			}
			q := r.Requests[0]
			check.Equal(t, "links", [2]bool{tc.links, tc.links}, [2]bool{q.Link != "", r.Jaeger != ""})
			missing := int64(0)
			if tc.side == local && tc.address != "" {
				missing = 3
			}
			got := [3]int64{r.MissingInJaeger, r.MissingLocally, r.MissingOpsLocally}
			check.Equal(t, "missing", [3]int64{missing, 0, 0}, got)
			check.Equal(t, "sides", [2]bool{tc.side == local, tc.side == service}, [2]bool{q.InLocal, q.InJaeger})
		})
	}
	empty := correlate.NewJoin().Report(correlate.Options{})
	if empty.Requests == nil || empty.Endpoints == nil || empty.Unattached == nil || len(empty.Requests) != 0 {
		t.Errorf("empty report %+v", empty)
	}
}

// An operation with a stated root belongs to that request, even if the request's span is unknown or on the other side.
func TestStatedRootsAreRequests(t *testing.T) {
	request := tracetest.SpanAt("POST /predict", 1, 0, 0, 100)
	stamped := tracetest.OpAt("matmul", 3, 2, 20, 80).On("cpu")
	stamped.Root = "POST /predict"
	stamped.RootID = 1
	j := correlate.NewJoin()
	j.AddLocal(stamped.Record())
	alone := j.Report(correlate.Options{})
	if len(alone.Requests) != 1 || alone.Requests[0].Root != "POST /predict" || alone.Requests[0].DurationNS.Known ||
		alone.Requests[0].Ops != 1 {
		t.Errorf("without the request's span: %+v", alone.Requests)
	}
	j = correlate.NewJoin()
	j.AddLocal(stamped.Record())
	j.AddService(request.Record())
	joined := j.Report(correlate.Options{Jaeger: address})
	if len(joined.Requests) != 1 || joined.Requests[0].DurationNS != op.Known(100) || joined.Requests[0].Ops != 1 {
		t.Errorf("with the request's span from Jaeger: %+v", joined.Requests)
	}
}

func TestKeepLeavesOutRequests(t *testing.T) {
	spans := append([]span{
		{tracetest.SpanAt("GET /health", 1, 0, 0, 1).In(3), both},
		{tracetest.OpAt("ping", 2, 1, 0, 1).On("cpu").In(3), both},
	}, predict...)
	r := join(spans).Report(correlate.Options{
		Keep:      func(q *requests.Request) bool { return q.Name != "GET /health" },
		KeepTrace: func(id op.TraceID) bool { return id != traceOf(2) },
	})
	if len(r.Requests) != 1 || len(r.Endpoints) != 1 || r.UnattachedOps != 0 {
		t.Errorf("%d requests, %d endpoints, %d unattached", len(r.Requests), len(r.Endpoints), r.UnattachedOps)
	}
	check.Equal(t, "left out", correlate.LeftOut{Requests: 1, Ops: 2}, r.LeftOut)
	check.Equal(t, "missing locally", 2, r.MissingLocally)
}

// A local batch read in parts equals the batch read at once.
func TestReportOfParts(t *testing.T) {
	forest := trace.New()
	var backend []span
	for i := range predict {
		if predict[i].side&local != 0 {
			forest.StartPart(int64(i))
			forest.Add(predict[i].Record())
		}
		if predict[i].side&service != 0 {
			backend = append(backend, predict[i])
		}
	}
	j := join(moved(backend, service))
	j.TakeLocal(forest)
	want := join(predict).Report(correlate.Options{Jaeger: address})
	check.Equal(t, "report", want, j.Report(correlate.Options{Jaeger: address}))
}

func TestUnattachedOperationsAreBounded(t *testing.T) {
	var spans []span
	for i := range 1200 {
		op := tracetest.OpAt("relu", uint64(1+i%200), 0, 0, 1).On("cpu").In(byte(1 + i/200))
		spans = append(spans, span{op, local})
	}
	r := join(spans).Report(correlate.Options{})
	check.Equal(t, "listed and all", [2]int{1000, 1200}, [2]int{len(r.Unattached), int(r.UnattachedOps)})
}

// A step of an engine works for requests of both sides. It is left out with its last request, and its trace counts as
// the report's if one of its requests is kept.
func TestExecutionsAreSharedAcrossSides(t *testing.T) {
	spans := []span{
		{tracetest.SpanAt("POST /a", 1, 0, 0, 50), both},
		{tracetest.SpanAt("POST /b", 1, 0, 0, 60).In(2), service},
		{tracetest.SpanAt("step", 1, 0, 10, 41).In(3).Of("api").To(1, 1).To(2, 1).To(9, 9), both},
		{tracetest.OpAt("matmul", 2, 1, 10, 41).In(3), local},
		{tracetest.SpanAt("sample", 3, 1, 20, 30).In(3), service},
	}
	whole := join(spans).Report(correlate.Options{Jaeger: address})
	want := []correlate.Shared{{
		Name: "step", Service: "api", TraceID: traceOf(3), SpanID: idOf(1), StartNS: op.Known(10), DurationNS: 31,
		Links: 3, Requests: 2, Ops: 1, SumNS: 31, Errors: []profile.Error{},
		DividedBy: []requests.Division{{Law: requests.LawEqual, TimeNS: 31}},
		Link:      address + "/trace/00000000000000000000000000000003?uiFind=0000000000000001",
	}}
	check.Equal(t, "shared", want, whole.Shared)
	if whole.MissingLinks != 1 || whole.MissingInJaeger != 1 || whole.MissingLocally != 2 || whole.UnattachedOps != 0 {
		t.Errorf("%d links and %d operations missing in Jaeger, %d spans locally, %d operations unattached",
			whole.MissingLinks, whole.MissingInJaeger, whole.MissingLocally, whole.UnattachedOps)
	}
	for name, part := range map[string]int64{"POST /a": 16, "POST /b": 15, "none": 0} {
		r := join(spans).Report(correlate.Options{Keep: func(q *requests.Request) bool { return q.Name == name }})
		if name == "none" {
			check.Equal(t, "executions and left out", [2]int{0, 1}, [2]int{len(r.Shared), int(r.LeftOut.Ops)})
			continue
		}
		if len(r.Requests) != 1 || r.Requests[0].SharedNS != part || len(r.Shared) != 1 {
			t.Errorf("%s: requests %+v", name, r.Requests)
		}
	}
}

func BenchmarkJoinAndReport(b *testing.B) {
	var spans []span
	for _, s := range tracetest.ServerRequests(200, 100) {
		spans = append(spans, span{s, both})
	}
	b.ReportAllocs()
	for b.Loop() {
		join(spans).Report(correlate.Options{Findings: true})
	}
}

// The gateway's spans have no flags of remote parents, and one has no service.
func TestRequestsOfAServiceBehindAGateway(t *testing.T) {
	span := func(name, service string, id, parent byte) op.Record {
		return op.Record{Span: &op.Span{
			Name: name, Service: service, TraceID: traceOf(1), SpanID: idOf(id), ParentSpanID: idOf(parent),
			Start: op.Known(int64(id)), Duration: 100 - 2*int64(id),
		}}
	}
	j := joined([]op.Record{
		span("GET /", "gateway", 1, 0), span("proxy", "", 2, 1), span("POST /predict", "server", 3, 2),
		span("parse", "server", 4, 3),
	})
	check.Equal(t, "requests of all", 1, len(j.LocalRequests("").List))
	list := j.LocalRequests("server").List
	check.Equal(t, "requests", 2, len(list))
	check.Equal(t, "request of the server", "POST /predict", list[1].Name)
	check.Equal(t, "requests of the report", 2, len(j.Report(correlate.Options{RequestsOf: "server"}).Requests))
}
