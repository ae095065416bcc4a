package replay

import (
	"math"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/trace"
)

// Bounds of the number of replays for blame.
const (
	maxFormed   = 64 // culprits of an engine
	maxReplayed = 24 // other culprits
)

// Blame finds the causes of delay of the slowest requests selected by keep, or of all for nil.
func (g *Graph) Blame(keep func(row int32) bool) *blame.Blames {
	b := &blame.Finder{
		Blames: blame.Blames{Rows: []blame.Blame{}, Culprits: []blame.Culprit{}}, Keep: keep, IsWithin: g.isWithin,
		Spread:   spreads[Without] + spreadFormed,
		Duration: func(row int32) int64 { return g.g.slack(g.begin[row], g.end[row]) },
	}
	inEngine := make(map[int32]bool)
	for _, e := range g.engines() {
		if e.Passes || e.Turns || e.Stages > 0 {
			continue
		}
		s := newPinned(g, e)
		for _, r := range s.Rows {
			inEngine[r] = true
		}
		b.Add(s, &s.Requests)
	}
	others := slices.DeleteFunc(slices.Clone(g.roots), func(r int32) bool { return inEngine[r] })
	if len(others) > 0 {
		s := newAlone(g, others)
		b.Add(s, &s.Requests)
	}
	return b.Find(g.forest)
}

// pinned is an engine whose requests are ready as recorded.
type pinned struct {
	blame.Requests
	*batching.Engine
	plan   batching.Plan
	formed batching.Formed
	parts  [][]share // by step
}

// share is the part of a step's time for a request, or for its prompt.
type share struct {
	root   int32
	ns     float64
	prompt bool
}

// addTo adds the part to the suspects.
func (p share) addTo(s blame.Suspects) *blame.Suspect {
	x := s.Add(p.root, p.ns)
	if p.prompt {
		x.PromptNS += p.ns
	}
	return x
}

func newPinned(g *Graph, e *engine) *pinned {
	recorded := g.g.Recorded()
	served, full := e.Pinned()
	f := &pinned{Engine: served, plan: g.plan(e.Engine, recorded, recorded, false)}
	tails, own := make(map[int32]float64), make(map[int32]float64)
	for i, q := range e.Served {
		tails[q.Root] = f.plan.Tails[i]
		own[q.Root] = f.plan.Own[i]
	}
	var rows []int32
	for i := range f.Served {
		q := &f.Served[i]
		f.plan.Tails[i] = tails[q.Root]
		f.plan.Own[i] = own[q.Root]
		rows = append(rows, q.Root)
	}
	f.Requests = blame.NewRequests(rows, maxFormed)
	f.Full = full
	f.Tokens = func(row int32) int64 {
		tokens, _ := batching.PromptOf(f.Served[f.Index[row]].Loads)
		return tokens
	}
	f.formed = f.Form(f.plan, nil)
	for i := range f.Served {
		f.Off += math.Abs(f.formed.Durations[i] - float64(f.Served[i].Duration))
	}
	f.Off /= float64(e.Sum)
	whole := make(blame.Suspects)
	next := make([]int, len(rows))
	f.parts = make([][]share, len(e.Steps))
	for i := range e.Steps {
		cost := &f.plan.Costs[i]
		for _, r := range g.requestsOf(&e.Steps[i]) {
			q := &f.Served[f.Index[r]]
			part := batching.Law{Fixed: cost.Fixed / float64(e.Steps[i].Links), Per: cost.Per}
			ns := part.At(q.Loads[next[f.Index[r]]])
			if next[f.Index[r]] == 0 {
				ns += f.plan.Own[f.Index[r]]
			}
			p := share{root: r, prompt: next[f.Index[r]] < q.Prompt, ns: ns}
			f.parts[i] = append(f.parts[i], p)
			p.addTo(whole)
			next[f.Index[r]]++
		}
	}
	f.Whole = func(row int32) *blame.Suspect { return whole[row] }
	f.InBatch = func(row int32) int64 {
		q := &f.Served[f.Index[row]]
		if f.Full {
			return e.Steps[q.Last].End - e.Steps[q.First].Start
		}
		return 0
	}
	return f
}

// requestsOf returns the requests of an execution, or the only request of a single-request step.
func (g *Graph) requestsOf(s *batching.Step) []int32 {
	if s.Execution == trace.NoExecution {
		return []int32{s.Row}
	}
	return g.forest.Executions.List[s.Execution].Requests
}

// Suspects adds up the parts of others in the steps until the victim's last one. The first of these steps runs before
// the victim's arrival by the victim's wait for its own first step.
func (f *pinned) Suspects(victim int32) blame.Suspects {
	all := make(blame.Suspects)
	v := &f.Served[f.Index[victim]]
	began := f.Steps[v.First].Start
	from := v.Arrival - (began - v.Arrival)
	first := sort.Search(len(f.Steps), func(i int) bool { return f.Steps[i].End > from })
	for i := first; i < len(f.Steps) && i <= int(v.Last); i++ {
		for _, p := range f.parts[i] {
			if p.root == victim {
				continue
			}
			if x := p.addTo(all); f.Steps[i].Start < began {
				x.BeforeVictimNS += p.ns
			}
		}
	}
	return all
}

// Without forms the batches again.
func (f *pinned) Without(numbers map[int32]bool) []int64 {
	delays := make([]int64, len(f.Served))
	for i, ns := range f.Form(f.plan, numbers).Durations {
		if ns >= 0 {
			delays[i] = int64(f.formed.Durations[i] - ns)
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
		if e.Single || e.Stages > 0 {
			continue
		}
		f := newPinned(g, e)
		var whole, lawful float64 // of all operations
		number := make(map[int32]int, len(f.Steps))
		for i := range f.Steps {
			number[f.Steps[i].Execution] = i
		}
		for r := range g.forest.Rows() {
			i, known := number[g.rows.ExecutionOf(r)]
			if !known || !g.forest.Has(r, trace.FlagOp) || g.begin[r] == none || !g.isOnDevice(r) {
				continue
			}
			s := &f.Steps[i]
			l := e.Laws.Of(g.kinds().Of(r), s)
			f.plan.Costs[i].Device.Add(l, 1)
			whole += float64(billed(r))
			lawful += l.At(s.Load)
		}
		parts := make(blame.Suspects)
		for _, r := range f.Rows {
			parts[r] = f.Whole(r)
		}
		busy := f.Form(f.plan, nil).Busy
		for _, x := range parts.Largest(maxSaved / len(f.Steps)) {
			less := busy - f.Form(f.plan, map[int32]bool{x.Number: true}).Busy
			saved[x.Number] += int64(less * whole / max(1, lawful))
		}
	}
	return saved
}
