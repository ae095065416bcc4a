package requests

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/timeline"
)

// engineKey tells engines apart: replicas of a service work on devices of their own.
type engineKey struct {
	service string
	device  int32 // the first one
}

// engine runs shared executions one after the other.
type engine struct {
	steps []*step // by start
	busy  timeline.Times
	// working is busy with the gaps in which requests are under way.
	working timeline.Times
	// joinable has the starts of executions with room for a waiting request. It is empty unless nearly all requests reach
	// their first executions late: then something before the engine takes the time.
	joinable []int64
}

type step struct {
	*Execution
	requests     []int32
	weights      []int64
	new, running int // requests beginning in it, and requests between their first and last executions
}

// findEngines returns the engine of each shared execution with a start.
func (r *Requests) findEngines() map[*Execution]*engine {
	all := make(map[engineKey]*engine)
	of := make(map[*Execution]*engine)
	for i := range r.Shared {
		e := &r.Shared[i]
		if !e.StartNS.Known {
			continue
		}
		k := engineKey{e.Service, math.MaxInt32}
		for _, row := range e.ops {
			k.device = min(k.device, e.forest.Device(row))
		}
		if all[k] == nil {
			all[k] = new(engine)
		}
		x := &r.forest.Executions.List[i]
		all[k].steps = append(all[k].steps, &step{Execution: e, requests: x.Requests, weights: x.Weights})
		of[e] = all[k]
	}
	for _, e := range all {
		slices.SortFunc(e.steps, func(a, b *step) int { return cmp.Compare(a.StartNS.V, b.StartNS.V) })
		for _, s := range e.steps {
			e.busy.Add(s.StartNS.V, s.StartNS.V+s.DurationNS)
		}
		e.findJoinable(r)
	}
	return of
}

// findJoinable finds the executions with room for more requests, without a prompt and without a new request. It finds
// no execution if most requests begin without others running, or if some requests started at once.
func (e *engine) findJoinable(r *Requests) {
	first := make(map[int32]int)
	last := make(map[int32]int)
	of := make(map[int32]int64) // the weight of a request in its last execution
	largest := 0
	for i, s := range e.steps {
		largest = max(largest, len(s.requests))
		for k, q := range s.requests {
			if _, known := first[q]; !known {
				first[q] = i
				s.new++
			}
			last[q] = i
			if s.weights != nil {
				of[q] = s.weights[k]
			}
		}
	}
	var delays, durations []int64
	change := make([]int, len(e.steps)) // of the running requests
	for q, i := range first {
		change[i]++
		change[last[q]]--
		if int(q) < r.forest.Len() {
			delays = append(delays, e.steps[i].StartNS.V-r.forest.Start(q))
		}
	}
	begin := 0
	join := 0
	running := 0
	for i, s := range e.steps {
		s.running = running
		running += change[i]
		to := s.StartNS.V + s.DurationNS
		if running > 0 && i+1 < len(e.steps) {
			to = max(to, e.steps[i+1].StartNS.V)
		}
		e.working.Add(s.StartNS.V, to)
		if s.new == 0 {
			durations = append(durations, s.DurationNS)
			continue
		}
		begin++
		join += min(1, s.running)
	}
	const (
		usual = 2
		late  = 2
		few   = 20
	)
	if len(durations) == 0 || len(delays) == 0 || usual*join < begin {
		return
	}
	median := sketch.Median(durations)
	slices.Sort(delays)
	if delays[len(delays)/few] < late*median {
		return
	}
	for _, s := range e.steps {
		prompt := s.weights == nil && 2*s.DurationNS > 3*median
		for k, w := range s.weights {
			prompt = prompt || w > of[s.requests[k]]
		}
		if !prompt && s.new == 0 && s.running < largest {
			e.joinable = append(e.joinable, s.StartNS.V)
		}
	}
}

// absentUntil returns the last time at which a request was not at the engine yet, given the start of its first
// execution: the request would have joined the execution at that time.
func (e *engine) absentUntil(first int64) int64 {
	i := sort.Search(len(e.joinable), func(i int) bool { return e.joinable[i] >= first })
	if i == 0 {
		return math.MinInt64
	}
	return e.joinable[i-1]
}
