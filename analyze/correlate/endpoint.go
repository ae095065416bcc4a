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
	// Requests is the number of requests, Ops the number of their operations.
	Requests int64 `json:"requests"`
	Ops      int64 `json:"ops"`
	// OwnNS is the time of the requests' operations, SharedNS their part of the time of shared executions. SharedOps
	// counts the operations of shared executions, once per request.
	OwnNS     int64 `json:"own_ns"`
	SharedNS  int64 `json:"shared_ns"`
	SharedOps int64 `json:"shared_ops"`
	// Timed is the number of requests with a start. The fields below count only these.
	Timed int64 `json:"timed_requests"`
	// The sums are as in Request, MaxNS is the longest duration.
	DurationNS  int64 `json:"duration_ns"`
	MaxNS       int64 `json:"max_ns"`
	UncoveredNS int64 `json:"uncovered_ns"`
	QueueingNS  int64 `json:"queueing_ns"`
	QueuedNS    int64 `json:"queued_ns"`
	// Path sums up the critical paths of the requests.
	Path Path `json:"critical_path"`
	// P50NS and P95NS are percentiles of the durations of the requests. They are unknown if no duration is known.
	P50NS op.Int `json:"p50_ns"`
	P95NS op.Int `json:"p95_ns"`
	// Pruned counts the operations held by Jaeger as summaries.
	Pruned PrunedSum `json:"pruned"`
	// Engines sums up the requests to inference engines, by engine, service and model.
	Engines []engines.Engine `json:"engines,omitempty"`
	// Slow compares slow with typical requests. It is nil for too few requests.
	Slow *Comparison `json:"slow"`
	// Link leads to the slowest request.
	Link Link `json:"link"`
}

// Path sums up critical paths: a [path.Summary] with rows and examples.
type Path struct {
	path.Summary
	// Shares has a row per operation, kind and device, the largest first.
	Shares []Share `json:"shares"`
}

// Share is the part of critical paths in one operation, or in a span that is no operation.
type Share struct {
	path.Share
	// TraceID is the request with the most time in it, SpanID its longest segment there. Link leads to that segment.
	TraceID op.TraceID `json:"trace_id"`
	SpanID  op.SpanID  `json:"span_id"`
	Link    Link       `json:"link"`
}

// endpoints sums up requests by name and service, the largest duration first, and marks slow requests.
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
		return cmp.Or(cmp.Compare(b.DurationNS, a.DurationNS),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Service, b.Service))
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
		sum(&e.QueuedNS, r.QueuedNS)
	}
}

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
			row.TraceID = e.request.TraceID
			row.SpanID = e.part.SpanID
			row.Link = e.part.Link
		}
		path.Shares = append(path.Shares, row)
	}
	return path
}

func percentile(sorted []*Request, percent int64) op.Int {
	if len(sorted) == 0 {
		return op.Int{}
	}
	return op.Known(sorted[sketch.Place(int64(len(sorted)), percent)].DurationNS.V)
}
