package correlate_test

import (
	"math"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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
	golden.JSON(t, "testdata/slow.json", r.Endpoints[0])
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
