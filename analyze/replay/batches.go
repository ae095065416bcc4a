package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/line"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Batches describes the shared executions whose batches are formed again for a change. Requests enter in the order of
// arrival, within the recorded limits. The time of an operation is a + b·weight, learned by name.
type Batches struct {
	Executions int64 `json:"executions"`
	Requests   int64 `json:"requests"`
	// SumNS is the recorded sum of the durations of the requests. FormedSumNS is the sum with all batches formed again
	// without a change. Drift is the difference relative to SumNS. A drift beyond 2 % widens bounds.
	SumNS       int64   `json:"sum_ns"`
	FormedSumNS int64   `json:"formed_sum_ns"`
	Drift       float64 `json:"drift_share"`
}

// engine runs shared executions one after the other.
type engine struct {
	steps            []step
	served           []served // by arrival
	largest, mostNew int      // requests in an execution, and in their first one
	mixed            bool     // executions have new and other requests
	delay            int64    // ns, the shortest from an arrival to an execution
	samples          map[lawKey][]line.Sample
	laws             map[lawKey]line.Line
	next             []int // the request that the client of each sends after its answer, or -1; nil for other arrivals
	sum, end         int64 // recorded: durations of the requests, last end
	formed           formed
}

// lawKey names a law: an operation in executions without or with new requests.
type lawKey struct {
	name  int32
	class int
}

// step is a recorded execution.
type step struct {
	row, execution int32
	start, end     int64
	ready          int64 // when the engine could begin it
	weight         float64
	links, new     int
	running        int // requests between their first and last executions, without the new ones
	idle           int // 1 if nothing was waiting before
}

// end returns the recorded time of the answer.
func (q *served) end() int64 { return q.arrival + q.duration }

// class returns 1 for an execution with new requests, otherwise 0.
func (s *step) class() int { return min(1, s.new) }

// served is a request of an engine.
type served struct {
	root              int32
	arrival, duration int64
	first, last       int32     // executions
	weights           []float64 // by execution
	follows           bool      // the next of another one
}

// enginesOf returns the engines that explain their requests.
func (g *Graph) enginesOf() (all []*engine) {
	g.build()
	f := g.forest
	list := f.Executions.List
	if len(list) == 0 {
		return nil
	}
	var byStart []int32
	for i := range list {
		if row := list[i].Row; g.begin[row] != none && g.executionOf(row) == int32(i) {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	byProcess := make(map[int32]*engine)
	steps := make(map[int32]*step) // by execution
	for _, i := range byStart {
		row := list[i].Row
		e := byProcess[g.process[row]]
		if e == nil {
			e = &engine{laws: make(map[lawKey]line.Line), samples: make(map[lawKey][]line.Sample)}
			byProcess[g.process[row]] = e
			all = append(all, e)
		}
		e.steps = append(e.steps, step{row: row, execution: i, start: g.g.At(g.begin[row]), end: g.g.At(g.end[row])})
	}
	byRoot := make(map[int32]*engine)
	for _, r := range g.roots {
		byRoot[r] = nil
	}
	all = slices.DeleteFunc(all, func(e *engine) bool { return !g.serve(e, byRoot) })
	for _, e := range all {
		for i := range e.steps {
			steps[e.steps[i].execution] = &e.steps[i]
		}
	}
	own := make(map[*engine]int64)
	for r := range f.Rows() {
		if g.begin[r] == none {
			continue
		}
		e := byRoot[g.owner[r]]
		x := g.executionOf(r)
		if x != trace.NoExecution {
			e = byProcess[g.process[list[x].Row]]
		}
		if e != nil {
			e.end = max(e.end, g.g.At(g.end[r]))
		}
		switch {
		case !f.Has(r, trace.FlagOp):
		case x == trace.NoExecution && f.IsDeviceSide(r):
			own[e] += f.Duration(r)
		case steps[x] != nil:
			k := lawKey{f.Name(r), steps[x].class()}
			e.samples[k] = append(e.samples[k], line.Sample{X: steps[x].weight, Y: float64(f.Duration(r))})
		}
	}
	const little = 10
	all = slices.DeleteFunc(all, func(e *engine) bool { return own[e] > e.sum/little || e.sum == 0 })
	recorded := g.g.Recorded()
	for _, e := range all {
		for k, list := range e.samples {
			e.laws[k] = line.Fit(list)
		}
		e.samples = nil
		e.findReady()
		e.findClients()
		e.formed = e.form(g.plan(e, recorded, recorded), nil)
	}
	return slices.DeleteFunc(all, func(e *engine) bool { return e.formed.sum <= 0 })
}

// executionOf returns the outermost execution of a row.
func (g *Graph) executionOf(r int32) int32 {
	f := g.forest
	x := f.ExecutionOf(r, g.owner)
	for depth := 0; x != trace.NoExecution && depth < maxDepth; depth++ {
		p := f.Tree.Parent[f.Executions.List[x].Row]
		if p == trace.NoRow || f.Executions.Of[p] == trace.NoExecution {
			break
		}
		x = f.Executions.Of[p]
	}
	return x
}

// serve finds the requests of an engine. It reports false if the executions are few or overlap, or link to requests
// without a span or to requests of another engine.
func (g *Graph) serve(e *engine, byRoot map[int32]*engine) bool {
	number := make(map[int32]int)
	overlaps := 0
	for i := range e.steps {
		s := &e.steps[i]
		x := &g.forest.Executions.List[s.execution]
		for k, r := range x.Requests {
			by, isRoot := byRoot[r]
			switch {
			case !isRoot:
				return false
			case by != nil && by != e:
				by.sum = 0
				return false
			case by == nil:
				byRoot[r] = e
				number[r] = len(e.served)
				e.served = append(e.served, served{
					root: r, arrival: min(s.start, g.g.At(g.begin[r])), duration: g.g.slack(g.begin[r], g.end[r]),
					first: int32(i),
				})
				s.new++
			}
			weight := 1.0
			if x.Weights != nil {
				weight = float64(x.Weights[k])
			}
			q := &e.served[number[r]]
			q.weights = append(q.weights, weight)
			q.last = int32(i)
			s.weight += weight
			s.links++
		}
		if i > 0 && s.start < e.steps[i-1].end {
			overlaps++
		}
	}
	for _, q := range e.served {
		e.sum += q.duration
		if q.first < q.last {
			e.steps[q.first+1].running++
			if int(q.last)+1 < len(e.steps) {
				e.steps[q.last+1].running--
			}
		}
	}
	for i := range e.steps {
		s := &e.steps[i]
		if i > 0 {
			s.running += e.steps[i-1].running
		}
		e.largest = max(e.largest, s.links)
		e.mostNew = max(e.mostNew, s.new)
		e.mixed = e.mixed || s.new > 0 && s.links > s.new
	}
	slices.SortStableFunc(e.served, func(a, b served) int { return cmp.Compare(a.arrival, b.arrival) })
	const few, enough = 20, 10
	return overlaps <= len(e.steps)/few && len(e.steps) >= enough && e.sum > 0
}

// findReady finds what each execution waited for, and whether the number of new requests was ever a limit.
func (e *engine) findReady() {
	e.delay = math.MaxInt64
	for _, q := range e.served {
		e.delay = min(e.delay, e.steps[q.first].start-q.arrival)
	}
	isLimit := false
	began, arrived := 0, 0
	for i := range e.steps {
		s := &e.steps[i]
		before := int64(math.MinInt64)
		if i > 0 {
			before = e.steps[i-1].end
		}
		for arrived < len(e.served) && e.served[arrived].arrival+e.delay <= before {
			arrived++
		}
		s.ready = before
		if s.running == 0 && arrived <= began && began < len(e.served) {
			s.idle = 1
			s.ready = min(s.start, max(before, e.served[began].arrival+e.delay))
		}
		began += s.new
		hasRoom := s.new == e.mostNew && s.new+s.running < e.largest
		isLimit = isLimit || hasRoom && began < len(e.served) && e.served[began].arrival+e.delay <= s.start
	}
	if !isLimit {
		e.mostNew = e.largest
	}
}

// findClients finds whether clients send their requests, each soon after the answer to the one before. By chance few
// requests arrive so soon after an answer that no other has followed.
func (e *engine) findClients() {
	n := len(e.served)
	mean := e.sum / int64(n)
	late := min(mean/10, 200*microsecond) // by which a span may end after its answer
	left := order.Numbers(n, func(x, y int32) int { return cmp.Compare(e.served[x].end(), e.served[y].end()) })
	next := slices.Repeat([]int{-1}, n)
	var free []int32 // requests whose clients have sent no other
	clients := n
	for i, q := range e.served {
		for len(left) > 0 && e.served[left[0]].end() <= q.arrival+late {
			free = append(free, left[0])
			left = left[1:]
		}
		if last := len(free) - 1; last >= 0 && int(free[last]) < i {
			next[free[last]] = i
			e.served[i].follows = true
			free = free[:last]
			clients--
		}
	}
	follow := 0
	for before, i := range next {
		if i >= 0 && e.served[i].arrival-e.served[before].end() <= mean/int64(2*clients) {
			follow++
		}
	}
	const most = 0.9
	if n >= 2*clients && float64(follow) >= most*float64(n-clients) {
		e.next = next
	}
}

// cost is the time of an execution after a gap, in ns. device is the part of its devices, if needed.
type cost struct {
	line.Line
	gap    float64
	device line.Line
}

// plan has the costs of executions, and the time of each request after its last one.
type plan struct {
	costs []cost
	tails []float64
}

// plan returns the costs in a changed run. The path to the end of an execution
// tells the parts of its operations.
func (g *Graph) plan(e *engine, recorded, v *variant) plan {
	p := plan{make([]cost, len(e.steps)), make([]float64, len(e.served))}
	for i, q := range e.served {
		p.tails[i] = float64(max(0, v.Time(g.end[q.root])-v.Time(g.end[e.steps[q.last].row])))
	}
	for i := range e.steps {
		s := &e.steps[i]
		c := &p.costs[i]
		begin := g.begin[s.row]
		g.g.back(v, g.end[s.row], v.Time(begin), func(edge edge, _, ns int64, ok bool) {
			l := line.Line{}
			if ok && g.isTimeOf(edge) && g.executionOf(edge.owner) == s.execution {
				l = e.laws[lawKey{g.forest.Name(edge.owner), s.class()}]
			}
			if l.At(s.weight) < 1 {
				l = line.Line{Fixed: 1}
			}
			part := float64(ns) / l.At(s.weight)
			c.Fixed += part * l.Fixed
			c.Slope += part * l.Slope
		})
		gap, changed := 0.0, 0.0
		g.g.back(recorded, begin, s.ready, func(edge edge, lag, ns int64, _ bool) {
			if lag > 0 {
				gap += float64(ns)
				changed += float64(ns) * float64(max(0, v.Lag(edge.index))) / float64(lag)
			}
		})
		c.gap = float64(s.start - s.ready)
		if gap > 0 {
			c.gap *= changed / gap
		}
	}
	return p
}

// formed has the times of requests with batches formed again: durations, -1 for requests left out, their sum and the
// last end, and the time of devices.
type formed struct {
	durations      []float64
	sum, end, busy float64
}

// form runs the engine again without some requests. The executions with new requests take the recorded costs of such
// executions in order, and so do all others.
func (e *engine) form(p plan, without map[int32]bool) formed {
	var costs, gaps [2]pool // by class, and by what was waiting
	gap, changed := 0.0, 0.0
	for i := range e.steps {
		s := &e.steps[i]
		costs[s.class()].costs = append(costs[s.class()].costs, p.costs[i])
		gaps[s.idle].costs = append(gaps[s.idle].costs, p.costs[i])
		gap += float64(s.start - s.ready)
		changed += p.costs[i].gap
	}
	delay := float64(e.delay)
	if gap > 0 {
		delay *= changed / gap
	}
	r := formed{durations: make([]float64, len(e.served))}
	arrivals := make([]float64, len(e.served))
	var coming, waiting, running []int
	arrive := func(i int, at float64) {
		for ; e.next != nil && without[e.served[i].root] && e.next[i] >= 0; i = e.next[i] {
			r.durations[i] = -1 // its client sends the next one instead
		}
		if r.durations[i] = -1; without[e.served[i].root] {
			return
		}
		arrivals[i] = at
		place, _ := slices.BinarySearchFunc(coming, at, func(k int, at float64) int {
			return cmp.Or(cmp.Compare(arrivals[k], at), -1)
		})
		coming = slices.Insert(coming, place, i)
	}
	for i, q := range e.served {
		if e.next == nil || !q.follows {
			arrive(i, float64(q.arrival))
		}
	}
	done := make([]int, len(e.served)) // executions
	now := math.Inf(-1)
	for len(coming)+len(waiting)+len(running) > 0 {
		idle := 0
		if len(waiting)+len(running) == 0 {
			if ready := arrivals[coming[0]] + delay; ready > now {
				idle = 1
				now = ready
			}
		}
		now += take(&gaps, idle).gap
		for len(coming) > 0 && arrivals[coming[0]]+delay <= now {
			waiting = append(waiting, coming[0])
			coming = coming[1:]
		}
		n := max(0, min(len(waiting), e.mostNew, e.largest-len(running)))
		batch := waiting[:n:n]
		waiting = waiting[n:]
		running = append(batch, running...)
		if n == 0 || e.mixed {
			batch = running
		}
		weight := 0.0
		for _, i := range batch {
			weight += e.served[i].weights[done[i]]
			done[i]++
		}
		c := take(&costs, min(1, n))
		now += c.At(weight)
		r.busy += c.device.At(weight)
		for _, i := range batch {
			if done[i] == len(e.served[i].weights) {
				end := now + p.tails[i]
				r.durations[i] = end - arrivals[i]
				r.sum += r.durations[i]
				r.end = max(r.end, end)
				if e.next != nil && e.next[i] >= 0 {
					arrive(e.next[i], end+float64(e.served[e.next[i]].arrival-e.served[i].end()))
				}
			}
		}
		running = slices.DeleteFunc(running, func(i int) bool { return done[i] == len(e.served[i].weights) })
	}
	return r
}

// pool has recorded costs in order.
type pool struct {
	costs   []cost
	next    int
	typical cost
}

// take returns the next cost of a pool, and after the last one the median. An empty pool takes from the other one.
func take(pools *[2]pool, k int) cost {
	if len(pools[k].costs) == 0 {
		k = 1 - k
	}
	p := &pools[k]
	if p.next++; p.next <= len(p.costs) {
		return p.costs[p.next-1]
	}
	if p.next == len(p.costs)+1 {
		sorted := slices.Clone(p.costs)
		slices.SortFunc(sorted, func(a, b cost) int { return cmp.Compare(a.At(1), b.At(1)) })
		p.typical = sorted[len(sorted)/2]
		slices.SortFunc(sorted, func(a, b cost) int { return cmp.Compare(a.gap, b.gap) })
		p.typical.gap = sorted[len(sorted)/2].gap
	}
	return p.typical
}

// again is the prediction for all engines.
type again struct {
	*Batches
	ns   map[int32]int64 // durations of requests, -1 for those left out
	sum  int64           // of the durations
	ends int64           // the recorded last end of engines
	end  int64           // that of the run, 0 if engines do not end last
}

// formAgain predicts the requests of engines in a changed run.
func (g *Graph) formAgain(recorded, v *variant, without map[int32]bool) again {
	out := again{ns: make(map[int32]int64)}
	if len(g.engines()) == 0 {
		return out
	}
	out.Batches = &Batches{}
	for _, e := range g.engines() {
		r := e.form(g.plan(e, recorded, v), without)
		scale := float64(e.sum) / e.formed.sum
		for i, q := range e.served {
			out.ns[q.root] = -1
			if r.durations[i] >= 0 {
				out.ns[q.root] = max(0, q.duration+int64(math.Round((r.durations[i]-e.formed.durations[i])*scale)))
			}
		}
		out.sum += int64(math.Round(r.sum * scale))
		out.ends = max(out.ends, e.end)
		out.end = max(out.end, e.end+int64(math.Round(r.end-e.formed.end)))
		out.Executions += int64(len(e.steps))
		out.Requests += int64(len(e.served))
		out.SumNS += e.sum
		out.FormedSumNS += int64(math.Round(e.formed.sum))
	}
	out.Drift = float64(out.FormedSumNS-out.SumNS) / float64(out.SumNS)
	if out.ends < g.g.At(recorded.Last()) {
		out.end = 0
		return out
	}
	for r := range g.forest.Rows() { // beside engines
		request := g.owner[r]
		if x := g.executionOf(r); x != trace.NoExecution && len(g.forest.Executions.List[x].Requests) > 0 {
			request = g.forest.Executions.List[x].Requests[0]
		}
		if _, isServed := out.ns[request]; g.begin[r] != none && !isServed {
			out.end = max(out.end, v.Time(g.end[r]))
		}
	}
	return out
}
