package executions

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/alike"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// Work is the work of a shared execution: its load, and the sums over its operations.
type Work struct {
	alike.Load
	flops, elements int64
	phase           string // of its operations, "" if unknown or several
	fresh           int64  // counts the requests it is the first execution for
}

// isKnown reports whether the work is known. Without weights and shapes, a prompt looks like a token, and only first
// executions of requests are alike.
func (w Work) isKnown() bool { return w.Weight > 0 || w.flops > 0 || w.elements > 0 }

// IsComparable reports whether an execution with work w takes no more than twice the time of one with work o. Known weights
// of prompts tell the work whatever the phase.
func (w Work) IsComparable(o Work) bool {
	const most = 2
	if !w.isKnown() && w.fresh > most*o.fresh {
		return false
	}
	return (w.phase == o.phase || w.Weight > w.Links) && w.Weight <= most*o.Weight && w.Attention <= most*o.Attention &&
		w.Links <= most*o.Links && w.flops <= most*o.flops && w.elements <= most*o.elements
}

// Likeness names the common property of executions comparable to one with work w.
func (w Work) Likeness() string {
	if w.isKnown() {
		return "with at least half of its work"
	}
	return "that begin requests, too,"
}

// Works returns the work of each shared execution, by its number. order has the numbers by start.
func Works(f *trace.Forest, order []int) []Work {
	works := make([]Work, len(f.Executions.List))
	mixed := make([]bool, len(works))
	seen := make([]bool, len(works))
	served := make(map[int32]bool)
	for _, i := range order {
		x := &f.Executions.List[i]
		works[i].Load = alike.LoadOf(x)
		for _, r := range x.Requests {
			if !served[r] {
				works[i].fresh++
			}
			served[r] = true
		}
	}
	for r := range f.Rows() {
		e := f.Executions.Of[r]
		if e == trace.NoExecution || !f.CountsInSums(r) {
			continue
		}
		w := &works[e]
		w.flops += f.Flops(r)
		w.elements += f.Elements(r)
		phase := f.Names.Marks.Values[f.Mark(r)].Phase
		if mixed[e] = mixed[e] || seen[e] && phase != w.phase; mixed[e] {
			phase = ""
		}
		w.phase = phase
		seen[e] = true
	}
	return works
}

// WaitedFor returns the time that requests waited for the first execution because it took more than others, and the
// time that those after it waited for their own first execution, up to more for each: their queue may be due to it.
// order has the numbers of executions by start.
func WaitedFor(f *trace.Forest, first int32, more int64, order []int) (waited, later int64) {
	seen := make(map[int32]bool)
	for _, i := range order {
		x := &f.Executions.List[i]
		for _, r := range x.Requests {
			if seen[r] || int(r) >= f.Len() || !f.Has(r, trace.FlagStart) {
				continue
			}
			seen[r] = true
			if f.Start(r) < f.End(first) {
				waited += min(more, f.End(first)-max(f.Start(r), f.Start(first)))
			} else {
				later += min(more, max(0, f.Start(x.Row)-f.Start(r)))
			}
		}
	}
	return waited, later
}

// Weights returns the tokens of each request's prompt, by row, or its largest weight in shared executions if weights do
// not tell them.
func Weights(f *trace.Forest) map[int32]float64 {
	weights := make(map[int32]float64)
	if f == nil {
		return weights
	}
	list := f.Executions.List
	byStart := order.Numbers(len(list), func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	tokens := engines.Tokens(f)
	loads := make(map[int32][]batching.Load)
	for _, i := range byStart {
		if p := f.Tree.Parent[list[i].Row]; p != trace.NoRow && f.Executions.Of[p] != trace.NoExecution {
			continue // the one around has them
		}
		of := list[i].Weights
		if tokens != nil {
			of = tokens[i]
		}
		for k, w := range of {
			r, w := list[i].Requests[k], float64(w)
			weights[r] = max(weights[r], w)
			loads[r] = append(loads[r], batching.Load{Weight: w})
		}
	}
	for r, of := range loads {
		tokens, _ := batching.PromptOf(of)
		weights[r] = max(weights[r], float64(tokens))
	}
	addStated(f, weights)
	return weights
}

// OwnTime returns the time of the operations of each request on devices, by row, without the first request of each device,
// which may warm up.
func OwnTime(f *trace.Forest) map[int32]float64 {
	times := make(map[int32]float64)
	owner := f.RequestOwners()
	first := make(map[int32]int32) // by device
	for _, r := range f.Devices.ByStart {
		of := owner[r]
		if of == trace.NoRow || int(of) >= f.Len() {
			continue
		}
		if _, known := first[f.Device(r)]; !known {
			first[f.Device(r)] = of
		}
		times[of] += float64(f.Duration(r))
	}
	for _, of := range first {
		delete(times, of)
	}
	return times
}

// FirstTime returns the time of each request's first execution, by row, where no weights tell the sizes of prompts.
func FirstTime(f *trace.Forest) map[int32]float64 {
	times := make(map[int32]float64)
	for _, first := range engines.Firsts(f) {
		times[first.Request] = max(times[first.Request], float64(first.NS))
	}
	return times
}

// addStated adds the tokens of prompts that requests state, if all do: requests of executions, or without any all with
// operations.
func addStated(f *trace.Forest, weights map[int32]float64) {
	stated := make(map[int32]float64)
	owner := f.RequestOwners()
	for q := range engines.Find(f, nil, key.Filter{}).All {
		if q.TokensIn.V > q.Cached.V {
			stated[owner[q.Node.Row]] = float64(q.TokensIn.V - q.Cached.V)
		}
	}
	rows := slices.Collect(maps.Keys(weights))
	if len(rows) == 0 { // links without weights
		for i := range f.Executions.List {
			rows = append(rows, f.Executions.List[i].Requests...)
		}
	}
	if len(f.Executions.List) == 0 {
		for _, r := range f.Devices.ByStart {
			if owner[r] != trace.NoRow {
				rows = append(rows, owner[r])
			}
		}
	}
	if slices.ContainsFunc(rows, func(r int32) bool { return stated[r] == 0 }) {
		return
	}
	for _, r := range rows {
		weights[r] = max(weights[r], stated[r])
	}
}

// Service returns the service of the operations of shared executions, "" if there are several.
func Service(f *trace.Forest) (name string) {
	known := false
	for _, r := range f.Devices.ByStart {
		if f.Executions.Of[r] == trace.NoExecution {
			continue
		}
		if known && f.Service(r) != name {
			return ""
		}
		name, known = f.Service(r), true
	}
	return name
}

// HalfStep returns half of the mean duration of shared executions, 0 without any.
func HalfStep(f *trace.Forest) int64 {
	if f == nil || len(f.Executions.List) == 0 {
		return 0
	}
	sum := int64(0)
	for i := range f.Executions.List {
		sum += f.Duration(f.Executions.List[i].Row)
	}
	return sum / int64(2*len(f.Executions.List))
}

// Services counts the services with operations on devices. A server's services differ in work: prompts and tokens. f may be
// nil.
func Services(f *trace.Forest) int {
	of := make(map[string]bool)
	if f != nil {
		for _, r := range f.Devices.ByStart {
			of[f.Service(r)] = true
		}
	}
	return len(of)
}

// IsHeavy reports whether a request has more than twice the usual weight: its work explains its time.
func IsHeavy(f *trace.Forest, s *requests.Standout) bool {
	const times = 2
	own := 0.0
	var all []float64
	for r, w := range Weights(f) {
		if int(r) < f.Len() {
			if n := f.Node(r); n.TraceID() == s.TraceID && n.SpanID() == s.SpanID {
				own = w
			}
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return len(all) > 0 && own > times*all[len(all)/2]
}

// IsWithin reports whether a time is within a shared execution, if there are any. An engine without a request of its own is
// idle, and its host has no work. f may be nil.
func IsWithin(f *trace.Forest, from, to int64) bool {
	return f == nil || len(f.Executions.List) == 0 || slices.ContainsFunc(f.Executions.List, func(x trace.Execution) bool {
		return f.Start(x.Row) <= from && to <= f.End(x.Row)
	})
}
