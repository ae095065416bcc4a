package correlate_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// predictions returns n requests, each with an add of 10 and a matmul of 20. In the slow ones the matmul takes 120 and
// a copy of 5 follows. Each request begins and ends with 1 of its own.
func predictions(n, slow int) []span {
	var all []span
	for i := range n {
		trace := byte(i + 1)
		matmul := int64(20)
		end := int64(32)
		if i < slow {
			matmul = 120
			end = 137
			all = append(all, span{tracetest.OpAt("copy", 4, 1, 131, 136).In(trace), both})
		}
		all = append(all,
			span{tracetest.SpanAt("POST /predict", 1, 0, 0, end).In(trace), both},
			span{tracetest.OpAt("add", 2, 1, 1, 11).In(trace), both},
			span{tracetest.OpAt("matmul", 3, 1, 11, 11+matmul).In(trace), both},
		)
	}
	return all
}

func TestSlowRequestsAreComparedWithTypicalOnes(t *testing.T) {
	r := join(predictions(20, 2)).Report(correlate.Options{Jaeger: address})
	if len(r.Endpoints) != 1 {
		t.Fatalf("endpoints %+v", r.Endpoints)
	}
	e := &r.Endpoints[0]
	got := [4]op.Int{e.P50NS, e.P95NS, op.Known(e.Requests), op.Known(e.MaxNS)}
	wantFigures := [4]op.Int{op.Known(32), op.Known(137), op.Known(20), op.Known(137)}
	check.Equal(t, "p50, p95, requests and the longest", wantFigures, got)
	cuda := device.Key{DeviceID: "cuda:0"}
	want := &correlate.Comparison{
		Slow:         correlate.Group{Requests: 2, MeanNS: 137, TraceID: traceOf(2)},
		Typical:      correlate.Group{Requests: 10, MeanNS: 32, TraceID: traceOf(13)},
		DifferenceNS: 105,
		Parts: []correlate.PartDifference{
			{Operation: "matmul", Kind: "compute", Key: cuda, SlowNS: 120, TypicalNS: 20, DifferenceNS: 100},
			{Operation: "copy", Kind: "compute", Key: cuda, SlowNS: 5, DifferenceNS: 5},
			{Operation: "POST /predict", Kind: "host", SlowNS: 2, TypicalNS: 2},
			{Operation: "add", Kind: "compute", Key: cuda, SlowNS: 10, TypicalNS: 10},
		},
	}
	check.Equal(t, "comparison", want, e.Slow, cmpopts.IgnoreTypes(correlate.Link("")))
	for _, p := range e.Slow.Parts {
		if p.Link == "" {
			t.Errorf("%s has no link", p.Operation)
		}
	}
	check.Equal(t, "link", address+"/trace/"+traceOf(2).String()+"..."+traceOf(13).String(), string(e.Slow.Link))
	slow := 0
	for i := range r.Requests {
		q := &r.Requests[i]
		isSlow := q.DurationNS.V == 137
		check.Equal(t, "slow and linked", [2]bool{isSlow, isSlow}, [2]bool{q.Slow, q.CompareLink != ""})
		if q.Slow {
			slow++
		}
	}
	check.Equal(t, "slow requests", 2, slow)
}

// The groups never overlap, whatever the number of requests. Fewer than four are not compared.
func TestComparedGroupsDoNotOverlap(t *testing.T) {
	for n := range 60 {
		r := join(predictions(n, 1)).Report(correlate.Options{})
		if n == 0 {
			continue
		}
		c := r.Endpoints[0].Slow
		if (c != nil) != (n >= 4) {
			t.Fatalf("%d requests: comparison %v", n, c)
		}
		if c == nil {
			continue
		}
		if c.Slow.Requests != int64((n+9)/10) || c.Typical.Requests < 1 || c.Typical.MeanNS != 32 {
			t.Errorf("%d requests: slow %+v, typical %+v", n, c.Slow, c.Typical)
		}
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.DifferenceNS
		}
		if math.Abs(sum-c.DifferenceNS) > 1e-9*math.Abs(c.DifferenceNS)+1e-9 {
			t.Errorf("%d requests: parts add up to %v, not %v", n, sum, c.DifferenceNS)
		}
		check.Equal(t, "a link without an address", "", c.Link)
	}
}
