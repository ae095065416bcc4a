package correlate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// pruned is a request with its long operation in Jaeger.
var pruned = []span{
	{tracetest.SpanAt("POST /predict", 1, 0, 0, 100), both},
	{tracetest.OpAt("matmul", 2, 1, 10, 50), both},
	{tracetest.OpAt("relu", 3, 1, 50, 52), local},
	{tracetest.OpAt("relu", 4, 1, 52, 55), local},
	{tracetest.OpAt("relu", 5, 1, 60, 61).On("cuda:1"), local},
	{tracetest.OpAt("add", 6, 1, 70, 71), local},
}

func summary(name, device string, count, duration int64) op.Pruned {
	return op.Pruned{
		TraceID: traceOf(1), SpanID: idOf(1), Operation: name, DeviceID: device, Count: count, Duration: duration,
	}
}

// Without the local batch, reports claim no bound and no idle time of summarised operations.
func TestNoBoundOfPrunedOperations(t *testing.T) {
	j := join(moved(pruned[:2], service))
	j.AddPruned(summary("relu", "cuda:0", 2, 5))
	var texts []string
	for _, f := range j.Report(correlate.Options{Jaeger: address, Findings: true}).Findings {
		texts = append(texts, f.Text)
	}
	check.Equal(t, "findings", []string{"2 of 3 operations have no times: the backend has their sums only.",
		"The bound is not known, because work has no times: 1 operation took 40 ns in all."}, texts)
}

func TestPrunedOperationsAreNotMissing(t *testing.T) {
	all := []op.Pruned{summary("relu", "cuda:0", 2, 5), summary("relu", "cuda:1", 1, 1), summary("add", "cuda:0", 1, 1)}
	offline := join(moved(pruned, local)).Report(correlate.Options{})
	for name, tc := range map[string]struct {
		spans     []span
		summaries []op.Pruned
		jaeger    int64 // missing there
		locally   int64
		notHeld   int64
		ops       int64
	}{
		"the batch holds all": {spans: pruned, summaries: all, ops: 5},
		"no batch":            {spans: pruned[:2], summaries: all, notHeld: 4, locally: 4, ops: 5},
		"nothing told of one": {spans: pruned, summaries: all[:2], jaeger: 1, ops: 5},
		"the batch lost one":  {spans: pruned[:5], summaries: all, notHeld: 1, locally: 1, ops: 5},
		"the rest in one row": {spans: pruned, summaries: []op.Pruned{
			summary(attrkey.PrunedOthers, "", 2, 2), summary("relu", "cuda:0", 2, 5),
		}, ops: 5},
		"more than the batch has": {
			spans: pruned, summaries: append([]op.Pruned{summary("mul", "cpu", 7, 70)}, all...),
			notHeld: 7, locally: 7, ops: 12,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := join(tc.spans)
			if name == "no batch" {
				j = join(moved(tc.spans, service))
				tc.locally = 0
			}
			var want correlate.PrunedSum
			for _, p := range tc.summaries {
				j.AddPruned(p)
				want.Count += p.Count
				want.SumNS += p.Duration
			}
			want.NotHeld = tc.notHeld
			r := j.Report(correlate.Options{Jaeger: address})
			q := r.Requests[0]
			check.Equal(t, "pruned", want, q.Pruned)
			check.Equal(t, "pruned at the endpoint", want, r.Endpoints[0].Pruned)
			missing := [4]int64{q.MissingInJaeger, r.MissingInJaeger, q.MissingOpsLocally, r.MissingOpsLocally}
			check.Equal(t, "missing", [4]int64{tc.jaeger, tc.jaeger, tc.locally, tc.locally}, missing)
			check.Equal(t, "operations", tc.ops, q.Ops)
			if len(tc.spans) < len(pruned) {
				return
			}
			// Jaeger adds no information to a complete batch.
			ignore := cmpopts.IgnoreFields(correlate.Request{},
				"Ops", "Pruned", "InJaeger", "MissingInJaeger", "MissingOpsLocally", "Link")
			links := cmpopts.IgnoreFields(correlate.PathPart{}, "Link")
			check.Equal(t, "request", offline.Requests[0], q, ignore, links)
		})
	}
}
