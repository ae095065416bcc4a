package replay

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/trace"
)

// pinned is an engine whose requests become ready when the recording shows it: not after their first step, and not
// before the step in front of it if that had room. Its batches formed again are those recorded.
type pinned struct {
	blamed
	engine
	plan  plan
	parts [][]share // by step
}

// share is the part of a step that works for a request, or for its prompt.
type share struct {
	root   int32
	ns     float64
	prompt bool
}

func (s suspects) addShare(p share) *suspect {
	x := s.add(p.root, p.ns)
	if p.prompt {
		x.prompt += p.ns
	}
	return x
}

func newPinned(g *Graph, e *engine) *pinned {
	recorded := g.g.Recorded()
	f := &pinned{engine: *e, plan: g.plan(e, recorded, recorded)}
	full := false
	f.next = nil // requests arrive as recorded
	f.served = slices.Clone(e.served)
	tails := make(map[int32]float64)
	for i := range f.served {
		q := &f.served[i]
		tails[q.root] = f.plan.tails[i]
		ready := min(q.arrival+e.delay, e.steps[q.first].start)
		if q.first > 0 {
			before := &e.steps[q.first-1]
			if before.new < e.mostNew && before.running+before.new < e.largest {
				ready = max(ready, before.start+1)
			} else if ready <= before.start {
				full = true
			}
		}
		q.ready(ready - e.delay)
	}
	slices.SortStableFunc(f.served, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.arrival, b.arrival))
	})
	var rows []int32
	for i := range f.served {
		q := &f.served[i]
		if i > 0 && q.arrival < f.served[i-1].arrival {
			q.ready(f.served[i-1].arrival)
		}
		f.plan.tails[i] = tails[q.root]
		rows = append(rows, q.root)
	}
	f.blamed = newBlamed(rows, maxFormed)
	f.full = full
	f.blamed.tokens = func(row int32) int64 {
		tokens, _ := promptOf(f.served[f.index[row]].weights)
		return tokens
	}
	f.formed = f.form(f.plan, nil)
	for i := range f.served {
		f.off += math.Abs(f.formed.durations[i] - float64(f.served[i].duration))
	}
	f.off /= float64(e.sum)
	whole := make(suspects)
	next := make([]int, len(rows))
	f.parts = make([][]share, len(e.steps))
	for i := range e.steps {
		cost := &f.plan.costs[i]
		for _, r := range g.forest.Executions.List[e.steps[i].execution].Requests {
			q := &f.served[f.index[r]]
			_, prompt := promptOf(q.weights)
			p := share{
				root: r, prompt: next[f.index[r]] < prompt,
				ns: cost.Fixed/float64(e.steps[i].links) + cost.Slope*q.weights[next[f.index[r]]],
			}
			f.parts[i] = append(f.parts[i], p)
			whole.addShare(p)
			next[f.index[r]]++
		}
	}
	f.whole = func(row int32) *suspect { return whole[row] }
	f.inBatch = func(row int32) int64 {
		q := &f.served[f.index[row]]
		if f.full {
			return e.steps[q.last].end - e.steps[q.first].start
		}
		return 0
	}
	return f
}

// ready moves the arrival of a request.
func (q *served) ready(at int64) {
	q.duration += q.arrival - at
	q.arrival = at
}

// promptOf returns the tokens and the number of steps of a prompt: the steps with more weight than the last one. Tokens
// are 0 if weights do not tell them.
func promptOf(weights []float64) (tokens int64, steps int) {
	sum := 0.0
	for steps < len(weights) && (steps == 0 || weights[steps] > weights[len(weights)-1]) {
		sum += weights[steps]
		steps++
	}
	if sum <= float64(steps) {
		return 0, steps
	}
	return int64(sum), steps
}

// suspects adds up the parts of others in the steps until the victim's last one. The first of these steps runs before
// the victim's arrival by the time that the victim waited for its own first step.
func (f *pinned) suspects(victim int32) suspects {
	all := make(suspects)
	v := &f.served[f.index[victim]]
	began := f.steps[v.first].start
	from := v.arrival - (began - v.arrival)
	first := sort.Search(len(f.steps), func(i int) bool { return f.steps[i].end > from })
	for i := first; i < len(f.steps) && i <= int(v.last); i++ {
		for _, p := range f.parts[i] {
			if p.root == victim {
				continue
			}
			if x := all.addShare(p); f.steps[i].start < began {
				x.beforeVictim += p.ns
			}
		}
	}
	return all
}

func (f *pinned) without(numbers map[int32]bool) []int64 {
	delays := make([]int64, len(f.served))
	for i, ns := range f.form(f.plan, numbers).durations {
		if ns >= 0 {
			delays[i] = int64(f.formed.durations[i] - ns)
		}
	}
	return delays
}

// maxSaved bounds the executions formed again for SavedByRequest. Beyond it, only the largest requests are replayed.
const maxSaved = 20_000_000

// SavedByRequest returns by how much the devices work less for an engine if a request is left out and batches are formed again,
// by the row of the request, in ns, with typical times of operations. billed is the time of a device for one. Requests
// beside engines are missing, and of many the smallest.
func (g *Graph) SavedByRequest(billed func(row int32) int64) map[int32]int64 {
	saved := make(map[int32]int64)
	for _, e := range g.engines() {
		f := newPinned(g, e)
		var whole, lawful float64 // of all operations
		number := make(map[int32]int, len(f.steps))
		for i := range f.steps {
			number[f.steps[i].execution] = i
		}
		for r := range g.forest.Rows() {
			i, known := number[g.executionOf(r)]
			if !known || !g.forest.Has(r, trace.FlagOp) || g.begin[r] == none || !g.isOnDevice(r) {
				continue
			}
			s := &f.steps[i]
			l := e.laws[lawKey{g.forest.Name(r), s.class()}]
			f.plan.costs[i].device.Fixed += l.Fixed
			f.plan.costs[i].device.Slope += l.Slope
			whole += float64(billed(r))
			lawful += l.At(s.weight)
		}
		parts := make(suspects)
		for _, r := range f.rows {
			parts[r] = f.whole(r)
		}
		busy := f.form(f.plan, nil).busy
		for _, x := range largest(parts, maxSaved/len(f.steps)) {
			less := busy - f.form(f.plan, map[int32]bool{x.number: true}).busy
			saved[x.number] = int64(less * whole / max(1, lawful))
		}
	}
	return saved
}
