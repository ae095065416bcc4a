package correlate_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// randomSpans returns random traces with each span on a random side.
func randomSpans(r *rand.Rand) (all []span) {
	for _, s := range tracetest.LinkedTraces(r) {
		all = append(all, span{s, side(1 + r.IntN(3))})
	}
	return all
}

// Operations missing on one side do not change the requests, and the parts of a critical path add up to the duration.
func TestJoinEqualsOneCompleteSide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sides := cmpopts.IgnoreFields(correlate.Request{}, "InJaeger", "InLocal", "MissingInJaeger", "MissingOpsLocally")
	for range cases.Count(t, 20, 200) {
		spans := randomSpans(r)
		whole := join(moved(spans, local)).Report(correlate.Options{})
		joined := join(spans).Report(correlate.Options{})
		byStart := cmpopts.SortSlices(func(a, b correlate.Request) bool {
			return a.TraceID.String()+a.RootSpanID.String() < b.TraceID.String()+b.RootSpanID.String()
		})
		byID := cmpopts.SortSlices(func(a, b correlate.Shared) bool {
			return a.TraceID.String()+a.SpanID.String() < b.TraceID.String()+b.SpanID.String()
		})
		check.Equal(t, fmt.Sprintf("shared executions of %+v", spans), whole.Shared, joined.Shared, byID)
		if diff := cmp.Diff(whole.Requests, joined.Requests, sides, byStart,
			cmpopts.IgnoreFields(correlate.Request{}, "Slow"), // ties go by the order of the input
			cmpopts.IgnoreFields(correlate.PathPart{}, "SpanID")); diff != "" {
			t.Fatalf("requests of %+v (-one side +joined):\n%s", spans, diff)
		}
		checkMissing(t, spans, joined)
		for i := range joined.Requests {
			sum := int64(0)
			for _, p := range joined.Requests[i].CriticalPath {
				sum += p.TimeNS
			}
			check.Equal(t, fmt.Sprintf("path of request %d", i), joined.Requests[i].DurationNS.V, sum)
		}
		for i := range joined.Endpoints {
			e := &joined.Endpoints[i]
			sum := int64(0)
			for _, s := range e.Path.Shares {
				sum += s.TimeNS
			}
			check.Equal(t, "path of endpoint "+e.Name, e.DurationNS, sum)
		}
	}
}

// checkMissing compares with a naive count. Every operation has a request or a shared execution above it: roots are no
// operations.
func checkMissing(t *testing.T, spans []span, r *correlate.Report) {
	t.Helper()
	var inJaeger, locally, opsLocally int64
	held := side(0)
	for _, s := range spans {
		held |= s.side
		switch {
		case s.side == local && s.IsOp:
			inJaeger++
		case s.side == service:
			locally++
			if s.IsOp {
				opsLocally++
			}
		}
	}
	if held&local == 0 {
		locally = 0
		opsLocally = 0
	}
	if held&service == 0 {
		inJaeger = 0
	}
	want := [3]int64{inJaeger, locally, opsLocally}
	got := [3]int64{r.MissingInJaeger, r.MissingLocally, r.MissingOpsLocally}
	check.Equal(t, "missing in Jaeger, spans and operations missing locally", want, got)
}

// The requests of a service behind a gateway are found by the services of spans and their parents. Two requests of one
// trace have different names.
func TestRequestsBehindAGateway(t *testing.T) {
	behind := regexp.MustCompile(`^POST /predict …0002 waited [\d.]+ ms behind the operations of …0003\.$`)
	for service, want := range map[string][]string{
		"": {"GET /"}, "api": {"GET /", "POST /predict", "POST /predict"}, "gateway": {"GET /"},
	} {
		j := correlate.NewJoin()
		for _, s := range []tracetest.Spec{
			tracetest.SpanAt("GET /", 1, 0, 0, 100e6), tracetest.SpanAt("POST /predict", 2, 1, 1e6, 99e6),
			tracetest.SpanAt("POST /predict", 3, 1, 0, 90e6),
			tracetest.OpAt("matmul", 4, 2, 71e6, 80e6), tracetest.OpAt("matmul", 5, 3, 20e6, 70e6),
		} {
			rec := s.Record()
			if rec.Span != nil {
				rec.Span.Service = map[string]string{"GET /": "gateway", "POST /predict": "api"}[s.Name]
			} else {
				rec.Entry.Service = "api"
			}
			j.AddLocal(rec)
		}
		r := j.Report(correlate.Options{RequestsOf: service})
		var got []string
		for _, q := range r.Requests {
			got = append(got, q.Root)
		}
		check.Equal(t, "requests of "+service, want, got)
		if service == "api" && (len(r.Blame) == 0 || !behind.MatchString(r.Blame[0].Text)) {
			t.Errorf("blame %+v", r.Blame)
		}
	}
}
