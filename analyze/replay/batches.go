package replay

import (
	"cmp"
	"math"
	"slices"

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
	delay            int64    // ns from the arrival of a request until it may enter a batch
	laws             map[lawKey]law
	sum, end         int64 // recorded: durations of the requests, last end
	formed           formed
}

// step is a recorded execution. The weights are those of its other and of its new requests.
type step struct {
	row, execution int32
	start, end     int64
	ready          int64 // when the engine could begin it
	weights        [2]float64
	links, new     int
	running        int // requests between their first and last executions, without the new ones
	idle           int // 1 if nothing was waiting before
}

// class returns 1 for an execution with new requests, otherwise 0.
func (s *step) class() int { return min(1, s.new) }

// served is a request of an engine.
type served struct {
	root              int32
	arrival, duration int64
	first, last       int32     // executions
	weights           []float64 // by execution
}

// enginesOf returns the engines that explain their requests.
func (g *Graph) enginesOf() (all []*engine) {
	f := g.forest
	list := f.Executions.List
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
			e = &engine{}
			byProcess[g.process[row]] = e
			all = append(all, e)
		}
		e.steps = append(e.steps, step{row: row, execution: i, start: g.g.at[g.begin[row]], end: g.g.at[g.end[row]]})
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
	samples := make(map[*step][]int32)
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
			e.end = max(e.end, g.g.at[g.end[r]])
		}
		switch {
		case !g.isOnDevice(r):
		case x == trace.NoExecution:
			own[e] += f.Duration(r)
		case steps[x] != nil:
			samples[steps[x]] = append(samples[steps[x]], r)
		}
	}
	const little = 10
	all = slices.DeleteFunc(all, func(e *engine) bool { return own[e] > e.sum/little })
	recorded := g.g.variant()
	for _, e := range all {
		g.learn(e, samples)
		e.findDelay()
		e.findReady()
		e.formed = e.form(g.plan(e, recorded, recorded, g.g.at), nil)
	}
	return all
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
			if !isRoot || by != nil && by != e {
				return false
			}
			isNew := 0
			if by == nil {
				byRoot[r] = e
				number[r] = len(e.served)
				e.served = append(e.served, served{
					root: r, arrival: min(s.start, g.g.at[g.begin[r]]), duration: g.g.slack(g.begin[r], g.end[r]),
					first: int32(i),
				})
				s.new++
				isNew = 1
			}
			weight := 1.0
			if x.Weights != nil {
				weight = float64(x.Weights[k])
			}
			q := &e.served[number[r]]
			q.weights = append(q.weights, weight)
			q.last = int32(i)
			s.weights[isNew] += weight
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

// findDelay finds the time from an arrival after which requests entered batches with room, and before which they did
// not.
func (e *engine) findDelay() {
	type waited struct {
		ns      int64
		entered bool
	}
	var all []waited
	arrived := 0
	for i := range e.steps {
		s := &e.steps[i]
		for arrived < len(e.served) && e.served[arrived].arrival < s.start {
			arrived++
		}
		hasRoom := s.new < e.mostNew && s.running+s.new < e.largest
		const searched = 16
		for k := arrived - 1; k >= max(0, arrived-searched); k-- {
			q := &e.served[k]
			if q.first == int32(i) || hasRoom && q.first > int32(i) {
				all = append(all, waited{s.start - q.arrival, q.first == int32(i)})
			}
		}
	}
	slices.SortFunc(all, func(a, b waited) int { return cmp.Compare(a.ns, b.ns) })
	errors, fewest := 0, 0
	for _, w := range all {
		if w.entered {
			errors++
		} else if errors--; errors < fewest {
			fewest = errors
			e.delay = w.ns + 1
		}
	}
}

// lawKey names a law: an operation in executions without or with new requests.
type lawKey struct {
	name  int32
	class int
}

// law is the time of an operation by the weights of its execution, in ns.
type law struct {
	fixed  float64
	slopes [2]float64 // of other and of new requests
}

func (l law) at(weights [2]float64) float64 {
	return l.fixed + l.slopes[0]*weights[0] + l.slopes[1]*weights[1]
}

// sample is a recorded operation.
type sample struct {
	weights [2]float64
	ns      float64
}

// learn learns the laws of operations. Beside new requests, other ones cost as much as without them.
func (g *Graph) learn(e *engine, rows map[*step][]int32) {
	e.laws = make(map[lawKey]law)
	samples := make(map[lawKey][]sample)
	for i := range e.steps {
		s := &e.steps[i]
		for _, r := range rows[s] {
			k := lawKey{g.forest.Name(r), s.class()}
			samples[k] = append(samples[k], sample{s.weights, float64(g.forest.Duration(r))})
		}
	}
	for class := range 2 {
		for k, list := range samples {
			if k.class == class {
				others, known := e.laws[lawKey{k.name, 0}]
				e.laws[k] = fit(list, others.slopes[0], known && class == 1)
			}
		}
	}
}

// fit returns the law of samples by least squares, without the twentieth that is farthest from it. All weights have one
// slope, unless that of other requests is known.
func fit(list []sample, others float64, known bool) (l law) {
	of := func(s sample) (x, y float64) {
		if known {
			return s.weights[1], s.ns - others*s.weights[0]
		}
		return s.weights[0] + s.weights[1], s.ns
	}
	const rounds, least = 3, 3
	keep := list
	for range rounds {
		var x, y, xx, xy float64
		n := float64(len(keep))
		for _, s := range keep {
			dx, dy := of(s)
			x += dx / n
			y += dy / n
		}
		for _, s := range keep {
			dx, dy := of(s)
			xx += (dx - x) * (dx - x)
			xy += (dx - x) * (dy - y)
		}
		slope := 0.0
		if xx > 0 {
			slope = max(0, min(xy/xx, y/x))
		}
		l = law{y - slope*x, [2]float64{slope, slope}}
		if known {
			l.slopes[0] = others
		}
		off := func(s sample) float64 { return math.Abs(s.ns-l.at(s.weights)) / max(1, l.at(s.weights)) }
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/20)]
	}
	return l
}

// cost is the time of an execution: fixed + slopes·weights, after a gap. All in ns.
type cost struct {
	law
	gap float64
}

// plan has the costs of executions, and the time of each request after its last one.
type plan struct {
	costs []cost
	tails []float64
}

// plan returns the costs with changed lags. Times are those of the changed run. The path to the end of an execution
// tells the parts of its operations.
func (g *Graph) plan(e *engine, recorded, v *variant, at []int64) plan {
	p := plan{make([]cost, len(e.steps)), make([]float64, len(e.served))}
	for i, q := range e.served {
		p.tails[i] = float64(max(0, at[g.end[q.root]]-at[g.end[e.steps[q.last].row]]))
	}
	for i := range e.steps {
		s := &e.steps[i]
		c := &p.costs[i]
		begin := g.begin[s.row]
		v.back(g.end[s.row], at[begin], at, func(edge *edge, _ int32, ns int64) {
			l := law{fixed: float64(ns)}
			if edge != nil && edge.kind == own && g.executionOf(edge.owner) == s.execution {
				known := e.laws[lawKey{g.forest.Name(edge.owner), s.class()}]
				if usual := known.at(s.weights); usual > 0 {
					part := float64(ns) / usual
					l = law{known.fixed * part, [2]float64{known.slopes[0] * part, known.slopes[1] * part}}
				}
			}
			c.fixed += l.fixed
			c.slopes[0] += l.slopes[0]
			c.slopes[1] += l.slopes[1]
		})
		gap, changed := 0.0, 0.0
		recorded.back(begin, s.ready, g.g.at, func(edge *edge, i int32, ns int64) {
			if edge != nil && edge.lag > 0 {
				gap += float64(ns)
				changed += float64(ns) * float64(max(0, v.lags[i])) / float64(edge.lag)
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
// last end.
type formed struct {
	durations []float64
	sum, end  float64
}

// form runs the engine again without some requests. The executions with new requests take the recorded costs of such
// executions in order, and so do all others.
func (e *engine) form(p plan, without map[int32]bool) formed {
	var costs, gaps [2][]*cost // by class, and by what was waiting
	gap, changed := 0.0, 0.0
	for i := range e.steps {
		s := &e.steps[i]
		costs[s.class()] = append(costs[s.class()], &p.costs[i])
		gaps[s.idle] = append(gaps[s.idle], &p.costs[i])
		gap += float64(s.start - s.ready)
		changed += p.costs[i].gap
	}
	delay := float64(e.delay)
	if gap > 0 {
		delay *= changed / gap
	}
	r := formed{durations: make([]float64, len(e.served))}
	var coming, waiting, running []int
	for i := range e.served {
		r.durations[i] = -1
		if !without[e.served[i].root] {
			coming = append(coming, i)
		}
	}
	done := make([]int, len(e.served)) // executions
	var used, usedGaps [2]int
	now := math.Inf(-1)
	for len(coming)+len(waiting)+len(running) > 0 {
		idle := 0
		if len(waiting)+len(running) == 0 {
			if ready := float64(e.served[coming[0]].arrival) + delay; ready > now {
				idle = 1
				now = ready
			}
		}
		now += take(gaps, &usedGaps, idle).gap
		for len(coming) > 0 && float64(e.served[coming[0]].arrival)+delay <= now {
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
		var weights [2]float64
		for _, i := range batch {
			weights[max(0, 1-done[i])] += e.served[i].weights[done[i]]
			done[i]++
		}
		now += take(costs, &used, min(1, n)).at(weights)
		for _, i := range batch {
			if done[i] == len(e.served[i].weights) {
				end := now + p.tails[i]
				r.durations[i] = end - float64(e.served[i].arrival)
				r.sum += r.durations[i]
				r.end = max(r.end, end)
			}
		}
		running = slices.DeleteFunc(running, func(i int) bool { return done[i] == len(e.served[i].weights) })
	}
	return r
}

// take returns the next element of one of two lists, the first one again after the last, of the other list if it is
// empty.
func take(lists [2][]*cost, used *[2]int, k int) *cost {
	if len(lists[k]) == 0 {
		k = 1 - k
	}
	used[k]++
	return lists[k][(used[k]-1)%len(lists[k])]
}

// again is the prediction for all engines.
type again struct {
	ns   map[int32]int64 // durations of requests, -1 for those left out
	sum  int64           // of the durations
	ends int64           // the recorded last end of engines
	end  int64           // that of the run, 0 if engines do not end last
}

// formAgain predicts the requests of engines with changed lags.
func (g *Graph) formAgain(recorded, v *variant, without map[int32]bool) again {
	out := again{ns: make(map[int32]int64)}
	if len(g.engines()) == 0 {
		return out
	}
	at := v.run()
	for _, e := range g.engines() {
		r := e.form(g.plan(e, recorded, v, at), without)
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
	}
	if out.ends < g.g.at[latest(g.g.at)] {
		out.end = 0 // something else ends last
		return out
	}
	for r := range g.forest.Rows() { // beside engines
		if _, isServed := out.ns[g.owner[r]]; g.begin[r] != none && !isServed && g.executionOf(r) == trace.NoExecution {
			out.end = max(out.end, at[g.end[r]])
		}
	}
	return out
}

// batches describes the engines, nil without one.
func (g *Graph) batches() *Batches {
	b := &Batches{}
	for _, e := range g.engines() {
		b.Executions += int64(len(e.steps))
		b.Requests += int64(len(e.served))
		b.SumNS += e.sum
		b.FormedSumNS += int64(math.Round(e.formed.sum))
		b.Drift = float64(b.FormedSumNS-b.SumNS) / float64(b.SumNS)
	}
	if b.Requests == 0 {
		return nil
	}
	return b
}
