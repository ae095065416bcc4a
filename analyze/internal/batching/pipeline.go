package batching

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/heap"
)

// countPipeline is Count for a pipeline. A number of requests is a limit if a request that was ready had to wait at it.
func (e *Engine) countPipeline() {
	for _, q := range e.Served {
		e.Sum += q.Duration
	}
	slices.SortStableFunc(e.Served, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	e.Delay = math.MaxInt64
	for _, q := range e.Served {
		e.Delay = min(e.Delay, e.Steps[q.First].Start-q.Arrival)
	}
	for i := range e.Steps {
		e.Largest = max(e.Largest, e.Steps[i].Links)
	}
	isReady := make(map[int32]bool)
	for _, q := range e.Served {
		if s := &e.Steps[q.First]; s.New == s.Links && !isReady[q.First] {
			s.Ready = max(s.Ready, min(s.Start, q.Arrival+e.Delay))
			isReady[q.First] = true
		}
	}
	isFull := false
	arrived, began := 0, 0
	for i := range e.Steps {
		s := &e.Steps[i]
		if s.Worker > 0 {
			continue
		}
		if began += s.New; s.Links < e.Largest {
			continue
		}
		for arrived < len(e.Served) && e.Served[arrived].Arrival+e.Delay <= s.Ready {
			arrived++
		}
		isFull = isFull || arrived > began
	}
	if !isFull {
		e.Largest = math.MaxInt
	}
}

// passing is a group on its way through the stages of a pipeline, at the next one at a time. The stage -1 is a request that
// arrives.
type passing struct {
	at           float64
	group, stage int
}

// formPipeline runs a pipeline again: a group of requests passes all stages for each of their executions, and then takes the
// requests that wait. A stage serves groups in the order of their coming.
func (e *Engine) formPipeline(p Plan, without map[int32]bool) Formed {
	pools := make([][2]pool, e.Stages) // by class
	for i := range e.Steps {
		s := &e.Steps[i]
		of := &pools[s.Worker][s.Class()]
		of.costs = append(of.costs, p.Costs[i])
	}
	r := Formed{Durations: slices.Repeat([]float64{-1}, len(e.Served))}
	arrivals := make([]float64, len(e.Served))
	coming := heap.Heap[passing]{Less: func(a, b passing) bool {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.stage, b.stage)) < 0
	}}
	arrive := func(i int, at float64) {
		if i, isSent := e.sent(i, without); isSent {
			arrivals[i] = at
			coming.Push(passing{at + float64(e.Delay), i, -1})
		}
	}
	late := e.begin(p, arrive)
	c := e.course()
	groups := make([][]int, e.Groups)
	isIdle := slices.Repeat([]bool{true}, e.Groups)
	classes := make([]int, e.Groups)
	loads := make([]Load, e.Groups)
	own := make([]float64, e.Groups)
	var waiting []int
	enter := func(group int, at float64) {
		n := max(0, min(len(waiting), e.Largest-len(groups[group])))
		groups[group] = append(groups[group], waiting[:n]...)
		waiting = waiting[n:]
		if isIdle[group] = len(groups[group]) == 0; isIdle[group] {
			return
		}
		sum, reads, _ := c.step(groups[group], nil, 0)
		loads[group] = sum
		own[group] = p.own(c.begun)
		classes[group] = 0
		if reads != noPrompt {
			classes[group] = 1
		}
		coming.Push(passing{at, group, 0})
	}
	free := slices.Repeat([]float64{math.Inf(-1)}, e.Stages)
	for len(coming.Items) > 0 {
		t := coming.Pop()
		if t.stage < 0 {
			waiting = append(waiting, t.group)
			if group := slices.Index(isIdle, true); group >= 0 {
				enter(group, t.at)
			}
			continue
		}
		if t.stage < e.Stages {
			cost := take(&pools[t.stage], classes[t.group])
			end := max(t.at, free[t.stage]) + cost.Gap + cost.At(loads[t.group])
			if t.stage == 0 {
				end += own[t.group]
			}
			free[t.stage] = end
			r.Busy += cost.Device.At(loads[t.group])
			coming.Push(passing{end, t.group, t.stage + 1})
			continue
		}
		for _, i := range groups[t.group] {
			if c.isDone(i) {
				e.answer(&r, i, t.at+p.Tails[i], arrivals, late, arrive)
			}
		}
		groups[t.group] = slices.DeleteFunc(groups[t.group], c.isDone)
		enter(t.group, t.at)
	}
	return r
}
