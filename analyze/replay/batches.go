package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Batches describes the shared executions whose batches are formed again for a change. Requests enter in the order of
// arrival, within the recorded limits. The time of an operation is a + b·weight, learned by name.
type Batches struct {
	Executions int64 `json:"executions"`
	Requests   int64 `json:"requests"`
	Largest    int64 `json:"largest"`  // requests in an execution
	MostNew    int64 `json:"most_new"` // requests in their first execution together
	// Mixed reports whether executions have new and other requests.
	Mixed bool `json:"mixed"`
	// SumNS is the recorded sum of the durations of the requests. FormedSumNS is the sum with all batches formed again
	// without a change. Drift is the difference relative to SumNS.
	SumNS       int64   `json:"sum_ns"`
	FormedSumNS int64   `json:"formed_sum_ns"`
	Drift       float64 `json:"drift_share"`
}

// mostDrift is the drift beyond which it widens bounds.
const mostDrift = 0.02

// engine runs shared executions one after the other.
type engine struct {
	steps            []step
	served           []served // by arrival
	largest, mostNew int
	mixed            bool
	delay            int64 // ns from the arrival of a request until it may enter a batch
	laws             map[lawKey]law
	sum, end         int64  // recorded: durations of the requests, last end
	formed           result // without a change
}

// step is a recorded execution.
type step struct {
	row, execution int32
	start, end     int64
	weight         float64
	links, new     int
	ready          int64 // when the engine could begin it
	idle           bool  // nothing was waiting before
}

// served is a request of an engine.
type served struct {
	root              int32
	arrival, duration int64
	first, last       int32     // executions
	weights           []float64 // by execution
}

// cost is the time of an execution: fixed + slope·weight, after a gap. All in ns.
type cost struct{ fixed, slope, gap float64 }

// plan has the costs of executions, and the time of each request after its last one.
type plan struct {
	costs []cost
	tails []float64
}

// result has the durations of the requests of an engine, -1 for those left out, their sum and the last end.
type result struct {
	durations []float64
	sum, end  float64
}

// enginesOf returns the engines whose executions explain their requests.
func (g *Graph) enginesOf() []*engine {
	f := g.forest
	list := f.Executions.List
	if len(list) == 0 || len(g.roots) == 0 {
		return nil
	}
	g.outer = g.outermost()
	keys := g.engineKeys()
	byStart := make([]int32, 0, len(list))
	for i := range list {
		if g.outer[i] == int32(i) && g.begin[list[i].Row] != none {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	engines := make(map[engineKey]*engine)
	of := make([]*engine, len(list)) // by execution
	place := make([]int32, len(list))
	for _, i := range byStart {
		e := engines[keys[i]]
		if e == nil {
			e = &engine{}
			engines[keys[i]] = e
		}
		of[i] = e
		place[i] = int32(len(e.steps))
		row := list[i].Row
		e.steps = append(e.steps, step{row: row, execution: i, start: g.g.at[g.begin[row]], end: g.g.at[g.end[row]]})
	}
	broken := g.serve(byStart, of, place)
	g.learn(of, place)
	var all []*engine
	for _, i := range byStart {
		if e := of[i]; !broken[e] && !slices.Contains(all, e) && e.isSequence() {
			e.findLimits()
			recorded := g.g.variant()
			e.formed = e.form(g.plan(e, recorded, recorded, g.g.at), nil)
			all = append(all, e)
		}
	}
	return all
}

type engineKey struct {
	service string
	rank    op.Int
}

// outermost returns the outermost execution around each execution.
func (g *Graph) outermost() []int32 {
	f := g.forest
	outer := make([]int32, len(f.Executions.List))
	for i := range outer {
		outer[i] = int32(i)
		for depth := 0; depth < maxDepth; depth++ {
			p := f.Tree.Parent[f.Executions.List[outer[i]].Row]
			if p == trace.NoRow || f.Executions.Of[p] == trace.NoExecution {
				break
			}
			outer[i] = f.Executions.Of[p]
		}
	}
	return outer
}

// executionOf returns the outermost execution of a row.
func (g *Graph) executionOf(r int32) int32 {
	x := g.forest.ExecutionOf(r, g.owner)
	if x != trace.NoExecution {
		x = g.outer[x]
	}
	return x
}

// engineKeys returns the service of each execution and the rank of its first operation.
func (g *Graph) engineKeys() []engineKey {
	f := g.forest
	keys := make([]engineKey, len(f.Executions.List))
	for i := range keys {
		keys[i].service = f.Node(f.Executions.List[i].Row).Service()
	}
	for r := range f.Rows() {
		if x := g.executionOf(r); x != trace.NoExecution && g.begin[r] != none && g.isOnDevice(r) && !keys[x].rank.Known {
			keys[x].rank = f.DeviceKey(r).Rank
		}
	}
	return keys
}

// serve finds the requests of each engine. An engine is broken if another one or operations of their own serve its
// requests, too, or if it links to unknown requests.
func (g *Graph) serve(byStart []int32, of []*engine, place []int32) (broken map[*engine]bool) {
	f := g.forest
	broken = make(map[*engine]bool)
	byRoot := make(map[int32]*engine)
	number := make(map[int32]int)
	isRoot := make(map[int32]bool)
	for _, r := range g.roots {
		isRoot[r] = true
	}
	for _, i := range byStart {
		e := of[i]
		s := &e.steps[place[i]]
		x := &f.Executions.List[i]
		for k, r := range x.Requests {
			if !isRoot[r] {
				broken[e] = true
				continue
			}
			weight := 1.0
			if x.Weights != nil {
				weight = float64(x.Weights[k])
			}
			if byRoot[r] == nil {
				byRoot[r] = e
				number[r] = len(e.served)
				arrival := min(g.g.at[g.begin[r]], s.start)
				e.served = append(e.served, served{
					root: r, arrival: arrival, duration: g.g.slack(g.begin[r], g.end[r]), first: place[i],
				})
				s.new++
			}
			if byRoot[r] != e {
				broken[e] = true
				broken[byRoot[r]] = true
				continue
			}
			q := &e.served[number[r]]
			q.weights = append(q.weights, weight)
			q.last = place[i]
			s.weight += weight
			s.links++
		}
	}
	own := make(map[*engine]int64)
	for r := range f.Rows() {
		if g.begin[r] != none && g.isOnDevice(r) && g.executionOf(r) == trace.NoExecution {
			if o := g.owner[r]; byRoot[o] != nil {
				own[byRoot[o]] += f.Duration(r)
			}
		}
	}
	for _, e := range byRoot {
		if e.sum == 0 {
			for _, q := range e.served {
				e.sum += q.duration
				e.end = max(e.end, g.g.at[g.end[q.root]])
			}
			slices.SortStableFunc(e.served, func(a, b served) int { return cmp.Compare(a.arrival, b.arrival) })
		}
	}
	for e, ns := range own {
		const little = 10
		broken[e] = broken[e] || ns > e.sum/little
	}
	return broken
}

// isSequence reports whether executions follow each other.
func (e *engine) isSequence() bool {
	overlaps := 0
	for i := 1; i < len(e.steps); i++ {
		if e.steps[i].start < e.steps[i-1].end {
			overlaps++
		}
	}
	const few = 20
	return overlaps <= len(e.steps)/few && e.sum > 0
}

// findLimits finds the limits of batches, and what each execution waited for.
func (e *engine) findLimits() {
	running := make([]int, len(e.steps)+1) // before each execution
	for _, q := range e.served {
		running[q.first+1]++
		if int(q.last)+1 < len(running) {
			running[q.last+1]--
		}
	}
	for i := range e.steps {
		s := &e.steps[i]
		running[i+1] += running[i]
		e.largest = max(e.largest, s.links)
		e.mostNew = max(e.mostNew, s.new)
		e.mixed = e.mixed || s.new > 0 && s.links > s.new
	}
	e.findDelay(running)
	arrived := 0
	started := 0
	for i := range e.steps {
		s := &e.steps[i]
		before := int64(math.MinInt64)
		if i > 0 {
			before = e.steps[i-1].end
		}
		for arrived < len(e.served) && e.served[arrived].arrival+e.delay <= before {
			arrived++
		}
		s.idle = running[i] == 0 && arrived <= started
		s.ready = before
		if s.idle {
			s.ready = s.start
			if started < len(e.served) {
				s.ready = min(s.start, max(before, e.served[started].arrival+e.delay))
			}
		}
		started += s.new
	}
}

// findDelay finds the time from an arrival after which requests entered batches with room, and before which they did
// not.
func (e *engine) findDelay(running []int) {
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
		hasRoom := s.new < e.mostNew && running[i]+s.new < e.largest
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

// plan returns the cost of each execution with changed lags. Times are those of the changed run. What determines the
// end of the execution tells the parts that operations take.
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
			law, ok := law{}, false
			if edge != nil && edge.kind == own && g.executionOf(edge.owner) == s.execution {
				law, ok = e.laws[lawKey{g.forest.Name(edge.owner), s.new > 0}]
			}
			if usual := law.at(s.weight); ok && usual > 0 {
				c.fixed += float64(ns) * law.fixed / usual
				c.slope += float64(ns) * law.slope / usual
			} else {
				c.fixed += float64(ns)
			}
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

// lawKey names a law: an operation in executions with or without new requests.
type lawKey struct {
	name  int32
	isNew bool
}

// law is the time of an operation by the weight of its execution: fixed + slope·weight, in ns.
type law struct{ fixed, slope float64 }

func (l law) at(weight float64) float64 { return l.fixed + l.slope*weight }

type sample struct{ weight, ns float64 }

// learn learns the laws of operations.
func (g *Graph) learn(of []*engine, place []int32) {
	samples := make(map[*engine]map[lawKey][]sample)
	for r := range g.forest.Rows() {
		x := g.executionOf(r)
		if x == trace.NoExecution || g.begin[r] == none || !g.isOnDevice(r) || of[x] == nil {
			continue
		}
		s := &of[x].steps[place[x]]
		if samples[of[x]] == nil {
			samples[of[x]] = make(map[lawKey][]sample)
		}
		k := lawKey{g.forest.Name(r), s.new > 0}
		samples[of[x]][k] = append(samples[of[x]][k], sample{s.weight, float64(g.forest.Duration(r))})
	}
	for e, byKey := range samples {
		e.laws = make(map[lawKey]law)
		for k, list := range byKey {
			e.laws[k] = fit(list)
		}
	}
}

// fit returns the law of samples by least squares, without the twentieth that is farthest from it.
func fit(list []sample) (l law) {
	const rounds, least = 3, 3
	keep := list
	for range rounds {
		var n, x, y, xx, xy float64
		for _, s := range keep {
			n++
			x += s.weight
			y += s.ns
		}
		for _, s := range keep {
			xx += (s.weight - x/n) * (s.weight - x/n)
			xy += (s.weight - x/n) * (s.ns - y/n)
		}
		l = law{fixed: y / n}
		if xx > 0 && xy > 0 {
			l.slope = min(xy/xx, y/max(1, x))
			l.fixed = (y - l.slope*x) / n
		}
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(l.off(a), l.off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/20)]
	}
	return l
}

// off returns how far a sample is from the law, relative to it.
func (l law) off(s sample) float64 { return math.Abs(s.ns-l.at(s.weight)) / max(1, l.at(s.weight)) }

// form runs the engine again without some requests. The executions with new requests take the recorded costs of such
// executions in order, and so do all others.
func (e *engine) form(p plan, without map[int32]bool) result {
	var numbers [2][]int  // of recorded executions, without and with new requests
	var gaps [2][]float64 // after others, and after nothing
	gap, changed := 0.0, 0.0
	for i := range e.steps {
		s := &e.steps[i]
		numbers[index(s.new > 0)] = append(numbers[index(s.new > 0)], i)
		gaps[index(s.idle)] = append(gaps[index(s.idle)], p.costs[i].gap)
		gap += float64(s.start - s.ready)
		changed += p.costs[i].gap
	}
	delay := float64(e.delay)
	if gap > 0 {
		delay *= changed / gap
	}
	r := result{durations: make([]float64, len(e.served))}
	order := make([]int, 0, len(e.served))
	for i := range e.served {
		r.durations[i] = -1
		if !without[e.served[i].root] {
			order = append(order, i)
		}
	}
	done := make([]int, len(e.served)) // executions
	var used, usedGaps [2]int
	var waiting, running []int
	now := math.Inf(-1)
	for len(order)+len(waiting)+len(running) > 0 {
		isIdle := false
		if len(waiting)+len(running) == 0 {
			ready := float64(e.served[order[0]].arrival) + delay
			isIdle = ready > now
			now = max(now, ready)
		}
		now += take(gaps, &usedGaps, isIdle)
		for len(order) > 0 && float64(e.served[order[0]].arrival)+delay <= now {
			waiting = append(waiting, order[0])
			order = order[1:]
		}
		n := max(0, min(len(waiting), e.mostNew, e.largest-len(running)))
		batch := waiting[:n:n]
		waiting = waiting[n:]
		all := append(batch, running...)
		if n == 0 || e.mixed {
			batch = all
		}
		weight := 0.0
		for _, i := range batch {
			weight += e.served[i].weights[done[i]]
			done[i]++
		}
		c := p.costs[take(numbers, &used, n > 0)]
		now += c.fixed + c.slope*weight
		for _, i := range batch {
			if q := &e.served[i]; done[i] == len(q.weights) {
				end := now + p.tails[i]
				r.durations[i] = end - float64(q.arrival)
				r.sum += r.durations[i]
				r.end = max(r.end, end)
			}
		}
		running = slices.DeleteFunc(all, func(i int) bool { return done[i] == len(e.served[i].weights) })
	}
	return r
}

func index(second bool) int {
	if second {
		return 1
	}
	return 0
}

// take returns the next element of one of two lists, from the first one again after the last.
func take[E any](lists [2][]E, used *[2]int, second bool) E {
	k := index(second)
	if len(lists[k]) == 0 {
		k = 1 - k
	}
	used[k]++
	return lists[k][(used[k]-1)%len(lists[k])]
}

// formed is the prediction of a change with batches formed again.
type formed struct {
	ns  map[int32]int64 // durations of requests, -1 for those left out
	sum int64           // of the durations
	end int64           // the last one
}

// formAgain predicts requests of engines with changed lags.
func (g *Graph) formAgain(recorded, v *variant, without map[int32]bool) (out formed) {
	out.ns = make(map[int32]int64)
	var at []int64
	for _, e := range g.engines() {
		if at == nil {
			at = v.run()
		}
		r := e.form(g.plan(e, recorded, v, at), without)
		scale := float64(e.sum) / e.formed.sum
		for i, q := range e.served {
			out.ns[q.root] = -1
			if r.durations[i] >= 0 {
				out.ns[q.root] = max(0, q.duration+int64(math.Round((r.durations[i]-e.formed.durations[i])*scale)))
			}
		}
		out.sum += int64(math.Round(r.sum * scale))
		out.end = max(out.end, e.end+int64(math.Round(r.end-e.formed.end)))
	}
	return out
}

// rest returns the last replayed end beside the engines of again.
func (g *Graph) rest(at []int64, again formed) (last int64) {
	for r := range g.forest.Rows() {
		if g.begin[r] == none || g.isServed(r, again) {
			continue
		}
		last = max(last, at[g.end[r]])
	}
	return last
}

// isServed reports whether row r is of a request of an engine, or of an execution.
func (g *Graph) isServed(r int32, again formed) bool {
	_, isServed := again.ns[g.owner[r]]
	return isServed || g.executionOf(r) != trace.NoExecution
}

// batches describes the engines, nil without one.
func (g *Graph) batches() *Batches {
	var b *Batches
	for _, e := range g.engines() {
		if b == nil {
			b = &Batches{}
		}
		b.Executions += int64(len(e.steps))
		b.Requests += int64(len(e.served))
		b.Largest = max(b.Largest, int64(e.largest))
		b.MostNew = max(b.MostNew, int64(e.mostNew))
		b.Mixed = b.Mixed || e.mixed
		b.SumNS += e.sum
		b.FormedSumNS += int64(math.Round(e.formed.sum))
		b.Drift = float64(b.FormedSumNS-b.SumNS) / float64(b.SumNS)
	}
	return b
}
