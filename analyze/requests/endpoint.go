package requests

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/path"
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
	// Timed is how many of the requests have a start and so count in the
	// figures below.
	Timed int64 `json:"timed_requests"`
	// The sums are in nanoseconds. Duration is that of the requests, Max the
	// longest of them, Uncovered and Queueing as in Request.
	DurationNS  int64 `json:"duration_ns"`
	MaxNS       int64 `json:"max_ns"`
	UncoveredNS int64 `json:"uncovered_ns"`
	QueueingNS  int64 `json:"queueing_ns"`
	// Path sums up the critical paths of the requests.
	Path *path.Summary `json:"critical_path"`
}

// Endpoints sums up the requests by name and service, the largest duration
// first.
func (r *Requests) Endpoints() []Endpoint {
	type endpointKey struct{ name, service string }
	sums := make(map[endpointKey]*endpointSum)
	for i := range r.List {
		request := &r.List[i]
		key := endpointKey{request.Name, request.Service}
		sum := sums[key]
		if sum == nil {
			sum = &endpointSum{path: path.NewSum(r.forest)}
			sum.Name, sum.Service = key.name, key.service
			sums[key] = sum
		}
		sum.add(request, r.pathWalks())
	}
	list := make([]Endpoint, 0, len(sums))
	for _, sum := range sums {
		list = append(list, sum.endpoint())
	}
	slices.SortFunc(list, func(a, b Endpoint) int {
		return cmp.Or(
			cmp.Compare(b.DurationNS, a.DurationNS),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Service, b.Service),
		)
	})
	return list
}

type endpointSum struct {
	Endpoint
	duration, uncovered, queueing wide.Sum
	own, shared                   wide.Sum
	path                          *path.Sum
}

func (s *endpointSum) add(r *Request, walks *path.Walks) {
	s.Requests++
	s.Ops += int64(r.Ops())
	s.SharedOps += int64(r.SharedOps)
	s.own.Add(r.OwnNS)
	s.shared.Add(r.SharedNS)
	if !r.StartNS.Known {
		return
	}
	s.Timed++
	s.duration.Add(r.DurationNS.V)
	s.MaxNS = max(s.MaxNS, r.DurationNS.V)
	s.uncovered.Add(r.UncoveredNS.V)
	s.queueing.Add(r.QueueingNS.V)
	walks.AddPath(s.path, r.window(), nil)
}

func (s *endpointSum) endpoint() Endpoint {
	e := s.Endpoint
	e.DurationNS, e.UncoveredNS, e.QueueingNS = s.duration.Int64(), s.uncovered.Int64(), s.queueing.Int64()
	e.OwnNS, e.SharedNS = s.own.Int64(), s.shared.Int64()
	e.Path = s.path.Summary()
	return e
}
