// Package batching runs an engine of shared executions again: requests arrive, enter in the order of arrival within the
// recorded limits, and each execution takes a time by its load.
package batching

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// Engine runs shared executions one after the other. Times are in ns.
type Engine struct {
	Steps            []Step
	Served           []Request // by arrival
	Largest, MostNew int       // the most requests in an execution, and in their first one
	Mixed            bool      // executions have new and other requests
	Alone            bool      // new requests wait until all others have ended
	ToLongest        bool      // an execution pads prompts to the largest, and runs until its longest answer
	Places           int       // workers that take one request after the other from a queue, 0 for others
	Stages, Groups   int       // of a pipeline: its stages, each the Worker of its steps, and the groups of requests passing them
	Turns            bool      // requests take several turns on workers, each a step
	Budget           float64   // tokens of an execution, 0 if prompts are not divided to keep to it
	divides          bool      // by a change
	HasAttention     bool      // all links have weights for attention
	Delay            int64     // the shortest from an arrival to an execution
	Window           int64     // from the arrival of a batch's first request, in which others may join; 0 without one
	opensIdle        bool      // the window opens only if no request waits at the end of a batch
	Next             []int     // the request that the client of each sends after its answer, or -1; nil for other arrivals
	Sum, End         int64     // recorded: durations of the requests, last end
}

// Step is a recorded execution.
type Step struct {
	Row, Execution int32
	From, To       int32 // points
	Start, End     int64
	Ready          int64 // when the engine could begin it
	Window         int64 // ns in which the engine waited for others to join
	Load           Load
	Links, New     int
	Prompts        int   // requests with prompts in it
	Running        int   // requests between their first and last executions, without the new ones
	Idle           int   // 1 if no request was waiting before
	Worker, Kind   int32 // of a turn: its worker, and a number for turns alike; or the stage of a pipeline
	Came, Freed    int64 // of a turn: when its request and its worker were ready, math.MinInt64 for a new worker
	Holds          bool  // of a turn: another request waited for it before it began
}

// Class returns 1 for an execution with prompts, otherwise 0.
func (s *Step) Class() int { return min(1, s.Prompts) }

// Request is a request of an engine.
type Request struct {
	Root              int32
	From, End         int32 // the points of its arrival and of its answer, or of its ways from and to other engines
	Arrival, Duration int64
	First, Last       int32   // executions
	Loads             []Load  // by execution
	Prompt            int     // executions
	Turns             []int32 // steps, of an engine of turns
	tokens            Load    // of the prompt
	follows           bool    // the next of another one
}

// Together returns the load of requests in one execution.
func (e *Engine) Together(loads []Load) (sum Load) {
	for _, l := range loads {
		if e.ToLongest {
			sum.Weight = max(sum.Weight, l.Weight)
			sum.Steps = max(sum.Steps, l.Steps)
		} else {
			sum.Add(l, 1)
		}
	}
	if e.ToLongest {
		n := float64(len(loads))
		sum.Attention = n * sum.Steps * (sum.Weight + sum.Steps/2)
		sum.Context = n * sum.Steps
		sum.Weight *= n
	}
	return sum
}

// EndsAt returns the recorded time of the answer.
func (q *Request) EndsAt() int64 { return q.Arrival + q.Duration }

// Ready moves the arrival of a request.
func (q *Request) Ready(at int64) {
	q.Duration += q.Arrival - at
	q.Arrival = at
}

// Count finds the limits of the engine from the requests of its executions, and sorts the requests by arrival.
func (e *Engine) Count() {
	if e.Stages > 0 {
		e.countPipeline()
		return
	}
	for _, q := range e.Served {
		e.Sum += q.Duration
		if q.First < q.Last {
			e.Steps[q.First+1].Running++
			if int(q.Last)+1 < len(e.Steps) {
				e.Steps[q.Last+1].Running--
			}
		}
	}
	for i := range e.Steps {
		s := &e.Steps[i]
		if i > 0 {
			s.Running += e.Steps[i-1].Running
		}
		e.Largest = max(e.Largest, s.Links)
		e.MostNew = max(e.MostNew, s.New)
		e.Mixed = e.Mixed || s.New > 0 && s.Links > s.New
	}
	slices.SortStableFunc(e.Served, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
}

// Learn finds the waits of executions and the manner of clients. It follows Count.
func (e *Engine) Learn() {
	if !e.Turns && e.Stages == 0 {
		e.findReady()
		e.findBudget()
	}
	e.findClients()
}

// each calls f with each execution, when a worker for it was free, and the number of requests begun before.
func (e *Engine) each(f func(s *Step, free int64, began int)) {
	began := 0
	free := slices.Repeat([]int64{math.MinInt64}, max(1, e.Places))
	for i := range e.Steps {
		s := &e.Steps[i]
		before := slices.Min(free)
		free[slices.Index(free, before)] = s.End
		f(s, before, began)
		began += s.New
	}
}

// findWindow finds the window of batches: most of those that are not full, and that a free engine did not begin at once,
// begin as long after the arrival of their first request, and others came later.
func (e *Engine) findWindow() {
	const (
		few   = 5
		least = 500_000 // shorter ones are not told from the host's work
		like  = 0.03
		joins = 0.9 // of the window: the last one joins before
		most  = 0.8
		part  = 20
	)
	var all []int64
	e.each(func(s *Step, free int64, began int) {
		if s.Running > 0 || s.New == 0 || s.New == e.MostNew || began >= len(e.Served) {
			return
		}
		if arrival := e.Served[began].Arrival; arrival >= free || s.Start-free >= least {
			all = append(all, s.Start-arrival)
		}
	})
	if len(all) < few {
		return
	}
	slices.Sort(all)
	window := all[len(all)/2]
	near := 0
	for _, ns := range all {
		if math.Abs(float64(ns-window)) <= like*float64(window) {
			near++
		}
	}
	if window < least || float64(e.Delay) >= joins*float64(window) || float64(near) < most*float64(len(all)) {
		return
	}
	e.Window = window
	e.Delay = min(e.Delay, window/part) // one that joins at the end is rare
	var atOnce, later int
	e.each(func(s *Step, free int64, began int) {
		if s.Running > 0 || s.New == 0 || s.New == e.MostNew || began >= len(e.Served) {
			return
		}
		arrival := e.Served[began].Arrival
		switch isSeen := arrival+e.Delay <= free && arrival+window-free >= least; {
		case isSeen && s.Start-free < least/2:
			atOnce++
		case isSeen:
			later++
		}
	})
	e.opensIdle = atOnce >= few && float64(atOnce) >= joins*float64(atOnce+later)
}

// findReady finds what each execution waited for, whether the numbers of requests and of new ones were ever limits, and
// whether a batch ends before the next one. A number is a limit if a request that was ready had to wait at it.
func (e *Engine) findReady() {
	const few = 20 // parts of a window that tell a full batch
	e.Delay = math.MaxInt64
	for _, q := range e.Served {
		e.Delay = min(e.Delay, e.Steps[q.First].Start-q.Arrival)
	}
	e.findWindow()
	isFull, isLimit, joins, waits := false, false, false, false
	arrived := 0
	e.each(func(s *Step, before int64, began int) {
		for arrived < len(e.Served) && e.Served[arrived].Arrival+e.Delay <= before {
			arrived++
		}
		s.Ready = before
		if s.Running == 0 && arrived <= began && began < len(e.Served) {
			s.Idle = 1
			s.Ready = min(s.Start, max(before, e.Served[began].Arrival+e.Delay))
		}
		isOpen := e.Window > 0 && s.Running == 0 && (s.Idle > 0 || !e.opensIdle)
		if last := began + s.New - 1; isOpen && began <= last && last < len(e.Served) {
			window := e.Served[began].Arrival + e.Window
			if full := e.Served[last].Arrival + e.Delay; s.Start < window-e.Window/few {
				window = min(window, full)
			}
			s.Window = max(0, min(s.Start, window)-max(s.Ready, e.Served[began].Arrival+e.Delay))
			s.Ready = min(s.Start, max(s.Ready, window))
		}
		joins = joins || s.New > 0 && s.Running > 0
		waits = waits || s.New == 0 && s.Running < e.Largest && arrived > began
		began += s.New
		if began < len(e.Served) && e.Served[began].Arrival+e.Delay <= s.Start {
			places := e.Largest - s.New - s.Running
			isFull = isFull || places <= 0 && (s.New > 0 || joins)
			isLimit = isLimit || places > 0 && s.New == e.MostNew
		}
	})
	e.Alone = waits && !joins
	if !isFull && e.Largest > 1 {
		e.Largest = math.MaxInt
	}
	if !isLimit {
		e.MostNew = e.Largest
	}
}

// KnowsLoads reports whether links have weights, beside their number.
func (e *Engine) KnowsLoads() bool {
	return slices.ContainsFunc(e.Steps, func(s Step) bool { return s.Load.Weight != float64(s.Links) })
}

// HasRoom reports whether another ready request could have begun in a recorded execution.
func (e *Engine) HasRoom(s *Step) bool {
	return s.New < e.MostNew && s.New+s.Running < e.Largest && !(e.Alone && s.Running > 0) &&
		(e.Budget == 0 || s.Load.Weight < nearBudget*e.Budget)
}

// findClients finds whether clients send their requests, each soon after the answer to the one before. By chance few
// requests arrive so soon after an answer that no other has followed.
func (e *Engine) findClients() {
	n := len(e.Served)
	mean := e.Sum / int64(n)
	late := min(mean/10, 200_000) // by which a span may end after its answer
	left := order.Numbers(n, func(x, y int32) int { return cmp.Compare(e.Served[x].EndsAt(), e.Served[y].EndsAt()) })
	next := slices.Repeat([]int{-1}, n)
	var free []int32 // requests without a next one of their clients
	clients := n
	for i, q := range e.Served {
		for len(left) > 0 && e.Served[left[0]].EndsAt() <= q.Arrival+late {
			free = append(free, left[0])
			left = left[1:]
		}
		if last := len(free) - 1; last >= 0 && int(free[last]) < i {
			next[free[last]] = i
			e.Served[i].follows = true
			free = free[:last]
			clients--
		}
	}
	follow := 0
	for before, i := range next {
		if i >= 0 && e.Served[i].Arrival-e.Served[before].EndsAt() <= mean/int64(2*clients) {
			follow++
		}
	}
	const most = 0.9
	if n >= 2*clients && float64(follow) >= most*float64(n-clients) {
		e.Next = next
	}
}
