package correlate_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/op"
)

// requests returns n requests, each with an add of 10 and a matmul of 20, but
// for the slow ones, in which the matmul takes 120 and is followed by a copy
// of 5. They begin and end with 1 of their own.
func requests(n, slow int) []span {
	var all []span
	for i := range n {
		trace := byte(i + 1)
		matmul, end := int64(20), int64(32)
		if i < slow {
			matmul, end = 120, 137
			all = append(all, span{trace: trace, id: 4, parent: 1, name: "copy", device: "cuda:0", start: 131, end: 136, side: both})
		}
		all = append(all,
			span{trace: trace, id: 1, name: "POST /predict", end: end, side: both},
			span{trace: trace, id: 2, parent: 1, name: "add", device: "cuda:0", start: 1, end: 11, side: both},
			span{trace: trace, id: 3, parent: 1, name: "matmul", device: "cuda:0", start: 11, end: 11 + matmul, side: both},
		)
	}
	return all
}

func TestComparison(t *testing.T) {
	r := join(requests(20, 2)).Report(correlate.Options{Jaeger: address})
	if len(r.Endpoints) != 1 {
		t.Fatalf("endpoints %+v", r.Endpoints)
	}
	e := &r.Endpoints[0]
	if e.P50 != op.Known(32) || e.P95 != op.Known(137) || e.Requests != 20 || e.Max != 137 {
		t.Errorf("p50 %v, p95 %v, %d requests, the longest %d", e.P50, e.P95, e.Requests, e.Max)
	}
	c := e.Slow
	if c == nil {
		t.Fatal("no comparison")
	}
	if c.Slow.Requests != 2 || c.Slow.Mean != 137 || c.Typical.Requests != 10 || c.Typical.Mean != 32 || c.Difference != 105 {
		t.Errorf("slow %+v, typical %+v, difference %v", c.Slow, c.Typical, c.Difference)
	}
	cuda := analyze.DeviceKey{DeviceID: "cuda:0"}
	want := []correlate.PartDifference{
		{Operation: "matmul", Kind: "compute", DeviceKey: cuda, Slow: 120, Typical: 20, Difference: 100},
		{Operation: "copy", Kind: "compute", DeviceKey: cuda, Slow: 5, Difference: 5},
		{Operation: "POST /predict", Kind: "host", Slow: 2, Typical: 2},
		{Operation: "add", Kind: "compute", DeviceKey: cuda, Slow: 10, Typical: 10},
	}
	for i := range c.Parts {
		if c.Parts[i].Link == nil {
			t.Errorf("%s has no link", c.Parts[i].Operation)
		}
		c.Parts[i].Link = nil
	}
	if diff := cmp.Diff(want, c.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	wantLink := address + "/trace/" + c.Slow.TraceID.String() + "..." + c.Typical.TraceID.String()
	if c.Link == nil || *c.Link != wantLink {
		t.Errorf("link %v, want %s", c.Link, wantLink)
	}
	slow := 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Slow != (q.Duration.V == 137) || q.Slow != (q.CompareLink != nil) {
			t.Errorf("request of %d: slow %v, link %v", q.Duration.V, q.Slow, q.CompareLink)
		}
		if q.Slow {
			slow++
		}
	}
	if slow != 2 {
		t.Errorf("%d slow requests", slow)
	}
}

// The groups never overlap, whatever the number of requests; too few are not
// compared.
func TestComparisonSizes(t *testing.T) {
	for n := range 60 {
		r := join(requests(n, 1)).Report(correlate.Options{})
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
		if c.Slow.Requests != int64((n+9)/10) || c.Typical.Requests < 1 || c.Typical.Mean != 32 {
			t.Errorf("%d requests: slow %+v, typical %+v", n, c.Slow, c.Typical)
		}
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.Difference
		}
		if math.Abs(sum-c.Difference) > 1e-9*math.Abs(c.Difference)+1e-9 {
			t.Errorf("%d requests: parts add up to %v, not %v", n, sum, c.Difference)
		}
		if c.Link != nil {
			t.Errorf("a link without an address: %s", *c.Link)
		}
	}
}
