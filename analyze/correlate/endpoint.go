package correlate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/op"
)

// Endpoint sums up the requests of one name and service.
type Endpoint struct {
	Name    string `json:"root"`
	Service string `json:"service"`
	// Requests is how many there are, Ops the operations that belong to them.
	Requests int64 `json:"requests"`
	Ops      int64 `json:"ops"`
	// OwnNS and SharedNS are the time of the requests' operations and their part of
	// that of shared executions, SharedOps the operations of these, counted for each
	// request.
	OwnNS     int64 `json:"own_ns"`
	SharedNS  int64 `json:"shared_ns"`
	SharedOps int64 `json:"shared_ops"`
	// Timed is how many of the requests have a start and so count below.
	Timed int64 `json:"timed_requests"`
	// The sums are as in Request, MaxNS is the longest one.
	DurationNS  int64 `json:"duration_ns"`
	MaxNS       int64 `json:"max_ns"`
	UncoveredNS int64 `json:"uncovered_ns"`
	QueueingNS  int64 `json:"queueing_ns"`
	// Path sums up the critical paths of the requests.
	Path Path `json:"critical_path"`
	// P50NS and P95NS are of the durations of the requests: the smallest that no less than that share of them does not
	// exceed. Unknown without requests that have a duration.
	P50NS op.Int `json:"p50_ns"`
	P95NS op.Int `json:"p95_ns"`
	// Pruned are the operations that Jaeger holds in summaries.
	Pruned PrunedSum `json:"pruned"`
	// Engines sums up the requests to inference engines in them, by engine, service and model.
	Engines []engines.Engine `json:"engines,omitempty"`
	// Slow compares the slow requests with the typical ones; nil where there are
	// too few.
	Slow *Comparison `json:"slow"`
	// Link leads to the slowest request.
	Link Link `json:"link"`
}

// Path sums up critical paths. It adds rows with examples to a [path.Summary].
type Path struct {
	path.Summary
	// Shares has a row per operation, kind and device, the largest first.
	Shares []Share `json:"shares"`
}

// Share is the part of critical paths that lies in one operation, or in a span
// that is no operation.
type Share struct {
	path.Share
	// TraceID is the request that spent the most time on it, SpanID where the path
	// was longest in that; Link leads there.
	TraceID op.TraceID `json:"trace_id"`
	SpanID  op.SpanID  `json:"span_id"`
	Link    Link       `json:"link"`
}

// endpoints sums up the requests, with the sums of their paths by name, the largest duration first, and marks the
// slow ones.
func endpoints(rows []Request, paths map[endpointName]*path.Sum, links Link) []Endpoint {
	byName := make(map[endpointName][]*Request)
	for i := range rows {
		k := endpointName{rows[i].Root, rows[i].Service}
		byName[k] = append(byName[k], &rows[i])
	}
	all := []Endpoint{}
	for name, requests := range byName {
		row := Endpoint{Name: name.root, Service: name.service, Path: withExamples(paths[name], requests)}
		var timed []*Request
		for _, r := range requests {
			row.add(r)
			if r.StartNS.Known {
				timed = append(timed, r)
			}
		}
		slices.SortStableFunc(timed, func(a, b *Request) int { return cmp.Compare(a.DurationNS.V, b.DurationNS.V) })
		row.P50NS, row.P95NS = percentile(timed, 50), percentile(timed, 95)
		row.Slow = compare(timed, links)
		if len(timed) > 0 {
			row.Link = timed[len(timed)-1].Link
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(b.DurationNS, a.DurationNS), strings.Compare(a.Name, b.Name), strings.Compare(a.Service, b.Service))
	})
	return all
}

func (e *Endpoint) add(r *Request) {
	sum := func(to *int64, ns int64) { *to = wide.AddSaturating(*to, ns) }
	e.Requests++
	e.Ops += r.Ops
	e.SharedOps += r.SharedOps
	sum(&e.OwnNS, r.OwnNS)
	sum(&e.SharedNS, r.SharedNS)
	e.Pruned.Count += r.Pruned.Count
	e.Pruned.SumNS += r.Pruned.SumNS
	e.Pruned.NotHeld += r.Pruned.NotHeld
	if r.StartNS.Known {
		e.Timed++
		e.MaxNS = max(e.MaxNS, r.DurationNS.V)
		sum(&e.DurationNS, r.DurationNS.V)
		sum(&e.UncoveredNS, r.UncoveredNS.V)
		sum(&e.QueueingNS, r.QueueingNS.V)
	}
}

// withExamples adds to the shares of a path where to look at them.
func withExamples(sum *path.Sum, requests []*Request) Path {
	type example struct {
		request *Request
		part    *PathPart
	}
	longest := make(map[partKey]example)
	for _, r := range requests {
		for i := range r.CriticalPath {
			p := &r.CriticalPath[i]
			if e, found := longest[p.key()]; !found || p.TimeNS > e.part.TimeNS {
				longest[p.key()] = example{r, p}
			}
		}
	}
	path := Path{Summary: sum.Summary(), Shares: []Share{}}
	for _, s := range sum.List() {
		row := Share{Share: s}
		if e, found := longest[partKey{s.Operation, s.Kind, s.Key}]; found {
			row.TraceID, row.SpanID, row.Link = e.request.TraceID, e.part.SpanID, e.part.Link
		}
		path.Shares = append(path.Shares, row)
	}
	return path
}

// percentile returns a percentile of the durations of requests that are sorted
// by them.
func percentile(sorted []*Request, percent int64) op.Int {
	if len(sorted) == 0 {
		return op.Int{}
	}
	return op.Known(sorted[sketch.Place(int64(len(sorted)), percent)].DurationNS.V)
}
