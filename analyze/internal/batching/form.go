package batching

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Cost is the time of an execution after a gap. Device is the part of its devices, if needed.
type Cost struct {
	Law
	Gap    float64
	Device Law
}

// Plan has the costs of executions, and of each request the time after its last one, the time of its own in its first one, and
// by how much later it arrives. Own is nil for none, and Late for as recorded.
type Plan struct {
	Costs            []Cost
	Tails, Own, Late []float64
}

// own returns the times of their own of requests.
func (p *Plan) own(requests []int) (ns float64) {
	for _, i := range requests {
		if p.Own != nil {
			ns += p.Own[i]
		}
	}
	return ns
}

// Formed has the times of requests with batches formed again: durations, -1 for requests left out, their sum and the
// last end, and the time of devices.
type Formed struct {
	Durations      []float64
	Sum, End, Busy float64
}

// Form runs the engine again without some requests. The executions that read prompts take the recorded costs of such
// executions in order, and so do all others. A part of a prompt divided by a change takes the cost of the prompt's own.
func (e *Engine) Form(p Plan, without map[int32]bool) Formed {
	if e.Turns {
		return e.formTurns(p, without)
	}
	if e.Stages > 0 {
		return e.formPipeline(p, without)
	}
	var costs, gaps [2]pool // by class, and by Idle
	gap, changed := 0.0, 0.0
	for i := range e.Steps {
		s := &e.Steps[i]
		costs[s.Class()].costs = append(costs[s.Class()].costs, p.Costs[i])
		gaps[s.Idle].costs = append(gaps[s.Idle].costs, p.Costs[i])
		gap += float64(s.Start - s.Ready)
		changed += p.Costs[i].Gap
	}
	delay := float64(e.Delay)
	if gap > 0 {
		delay *= changed / gap
	}
	r := Formed{Durations: slices.Repeat([]float64{-1}, len(e.Served))}
	arrivals := make([]float64, len(e.Served))
	var coming, waiting, running []int
	arrive := func(i int, at float64) {
		i, isSent := e.sent(i, without)
		if !isSent {
			return
		}
		arrivals[i] = at
		place, _ := slices.BinarySearchFunc(coming, at, func(k int, at float64) int {
			return cmp.Or(cmp.Compare(arrivals[k], at), -1)
		})
		coming = slices.Insert(coming, place, i)
	}
	late := e.begin(p, arrive)
	c := e.course()
	free := slices.Repeat([]float64{math.Inf(-1)}, max(1, e.Places)) // when each worker is
	for len(coming)+len(waiting)+len(running) > 0 {
		now := slices.Min(free)
		worker := slices.Index(free, now)
		idle := 0
		if len(waiting)+len(running) == 0 {
			if ready := arrivals[coming[0]] + delay; ready > now {
				idle = 1
				now = ready
			}
		}
		if e.Window > 0 && len(running) == 0 && (idle > 0 || !e.opensIdle) {
			now = max(now, e.joined(arrivals, waiting, coming, delay))
		}
		now += take(&gaps, idle).Gap
		for len(coming) > 0 && arrivals[coming[0]]+delay <= now {
			waiting = append(waiting, coming[0])
			coming = coming[1:]
		}
		n := max(0, min(len(waiting), e.MostNew, e.Largest-len(running)))
		if e.Alone && len(running) > 0 {
			n = 0
		}
		places := n
		if e.Budget > 0 {
			n = 0
		}
		batch := waiting[:n:n]
		waiting = waiting[n:]
		running = append(batch, running...)
		if n == 0 || e.Mixed {
			batch = running
		}
		sum, reads, joined := c.step(batch, waiting, places)
		running = append(running, waiting[:joined]...)
		waiting = waiting[joined:]
		if joined > 0 {
			batch = running
		}
		class := 0
		if reads != noPrompt {
			class = 1
		}
		var cost Cost
		if e.divides && reads != noPrompt {
			cost = p.Costs[e.Served[reads].First]
		} else {
			cost = take(&costs, class)
		}
		now += cost.At(sum)
		now += p.own(c.begun)
		free[worker] = now
		r.Busy += cost.Device.At(sum)
		for _, i := range batch {
			if c.isDone(i) {
				e.answer(&r, i, now+p.Tails[i], arrivals, late, arrive)
			}
		}
		running = slices.DeleteFunc(running, c.isDone)
	}
	return r
}

// begin calls arrive with the requests that follow no other one, and returns by how much later each request arrives.
func (e *Engine) begin(p Plan, arrive func(i int, at float64)) (late []float64) {
	if late = p.Late; late == nil {
		late = make([]float64, len(e.Served))
	}
	for i, q := range e.Served {
		if e.Next == nil || !q.follows {
			arrive(i, float64(q.Arrival)+late[i])
		}
	}
	return late
}

// sent returns the request that a client sends in place of request i and further ones that are left out. It reports false if
// the client sends none.
func (e *Engine) sent(i int, without map[int32]bool) (int, bool) {
	for e.Next != nil && without[e.Served[i].Root] && e.Next[i] >= 0 {
		i = e.Next[i]
	}
	return i, !without[e.Served[i].Root]
}

// answer adds the answer to request i. Its client sends the next one.
func (e *Engine) answer(r *Formed, i int, at float64, arrivals, late []float64, arrive func(i int, at float64)) {
	r.Durations[i] = at - arrivals[i]
	r.Sum += r.Durations[i]
	r.End = max(r.End, at)
	if e.Next != nil && e.Next[i] >= 0 {
		next := e.Next[i]
		arrive(next, at+float64(e.Served[next].Arrival-e.Served[i].EndsAt())+late[next])
	}
}

// joined returns when the next batch is full or its window ends.
func (e *Engine) joined(arrivals []float64, waiting, coming []int, delay float64) float64 {
	missing := min(e.MostNew, e.Largest) - len(waiting)
	if missing <= 0 {
		return math.Inf(-1)
	}
	first := slices.Concat(waiting, coming[:min(1, len(coming))])[0]
	end := arrivals[first] + float64(e.Window)
	if missing <= len(coming) {
		end = min(end, arrivals[coming[missing-1]]+delay)
	}
	return end
}

// FormOn is Form with the requests divided, in turn, among n engines. All requests of a client are of one engine.
func (e *Engine) FormOn(n int, p Plan, without map[int32]bool) Formed {
	all := Formed{Durations: slices.Repeat([]float64{-1}, len(e.Served))}
	of := make([]int, len(e.Served)) // engines
	turn := 0
	for i, q := range e.Served {
		if e.Next == nil || !q.follows {
			of[i] = turn % n
			turn++
		}
		if e.Next != nil && e.Next[i] >= 0 {
			of[e.Next[i]] = of[i] // sent later
		}
	}
	for k := range n {
		others := maps.Clone(without)
		for i, q := range e.Served {
			if of[i] != k {
				others[q.Root] = true
			}
		}
		part := e.Form(p, others)
		for i, ns := range part.Durations {
			all.Durations[i] = max(all.Durations[i], ns)
		}
		all.Sum += part.Sum
		all.Busy += part.Busy
		all.End = max(all.End, part.End)
	}
	return all
}

// FormEvenly is Form for engines that get all of their requests in turn. It sets the durations by root, and returns the
// last end.
func FormEvenly(engines []*Engine, plans []Plan, without map[int32]bool, ns map[int32]float64) (end float64) {
	var served []Request
	tails, own := make(map[int32]float64), make(map[int32]float64)
	for k, e := range engines {
		for i, q := range e.Served {
			tails[q.Root] = plans[k].Tails[i]
			own[q.Root] = plans[k].Own[i]
		}
		served = append(served, e.Served...)
	}
	slices.SortStableFunc(served, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	for k, e := range engines {
		of := *e
		of.Served = served
		of.Next = nil
		others := maps.Clone(without)
		p := plans[k]
		p.Tails, p.Own = nil, nil
		for i, q := range served {
			p.Tails = append(p.Tails, tails[q.Root])
			p.Own = append(p.Own, own[q.Root])
			if i%len(engines) != k {
				others[q.Root] = true
			}
		}
		formed := of.Form(p, others)
		end = max(end, formed.End)
		for i, q := range served {
			if formed.Durations[i] >= 0 {
				ns[q.Root] = formed.Durations[i]
			}
		}
	}
	return end
}

// pool has recorded costs in order.
type pool struct {
	costs   []Cost
	next    int
	typical Cost
}

// take returns the next cost of a pool, and after the last one the median. An empty pool takes from the other one.
func take(pools *[2]pool, k int) Cost {
	if len(pools[k].costs) == 0 {
		k = 1 - k
	}
	p := &pools[k]
	if p.next++; p.next <= len(p.costs) {
		return p.costs[p.next-1]
	}
	if p.next == len(p.costs)+1 {
		sorted := slices.Clone(p.costs)
		slices.SortFunc(sorted, func(a, b Cost) int { return cmp.Compare(a.At(Load{Weight: 1}), b.At(Load{Weight: 1})) })
		p.typical = sorted[len(sorted)/2]
		slices.SortFunc(sorted, func(a, b Cost) int { return cmp.Compare(a.Gap, b.Gap) })
		p.typical.Gap = sorted[len(sorted)/2].Gap
	}
	return p.typical
}

// Chunked returns the engine with at most size tokens in an execution: tokens behind prompts first, then parts of prompts.
func (e *Engine) Chunked(size float64) *Engine {
	of := *e
	if of.Budget == 0 || size < of.Budget {
		of.Budget = size
		of.divides = true
	}
	return &of
}

// Within returns the engine with a window of at most ns.
func (e *Engine) Within(ns int64) *Engine {
	of := *e
	of.Window = min(of.Window, ns)
	return &of
}

// Pinned returns the engine with the recorded times of readiness: a request becomes ready before its first step, and after
// the start of the step in front if that had room. Forming its batches gives the recorded ones. full reports whether
// requests waited for room.
func (e *Engine) Pinned() (of *Engine, full bool) {
	pinned := *e
	of = &pinned
	of.Next = nil // requests arrive as recorded
	of.Served = slices.Clone(e.Served)
	for i := range of.Served {
		q := &of.Served[i]
		ready := min(q.Arrival+e.Delay, e.Steps[q.First].Start)
		if q.First > 0 {
			before := &e.Steps[q.First-1]
			if e.HasRoom(before) {
				ready = max(ready, before.Start+1)
			} else if ready <= before.Start {
				full = true
			}
		}
		q.Ready(ready - e.Delay)
	}
	slices.SortStableFunc(of.Served, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Arrival, b.Arrival))
	})
	for i := range of.Served {
		if q := &of.Served[i]; i > 0 && q.Arrival < of.Served[i-1].Arrival {
			q.Ready(of.Served[i-1].Arrival)
		}
	}
	return of, full
}
