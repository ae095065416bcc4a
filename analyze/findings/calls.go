package findings

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// alike are the calls of an operation on devices with equal shapes. rest are all but the first on each device.
type alike struct {
	rows, first, rest []int32
	median            int64 // of rest
	// isUnlike is set for calls in shared executions of unlike loads: what they work on differs.
	isUnlike bool
}

// alikeCalls returns the calls of operations by their shapes, by name.
func (l *list) alikeCalls(operations []profile.Operation) map[string][]alike {
	f := l.Forest
	if f == nil || len(operations) == 0 {
		return nil
	}
	isWanted := make(map[string]bool)
	for i := range operations {
		isWanted[operations[i].Operation] = true
	}
	wanted := make([]bool, len(f.Names.Operations.Values))
	for i, name := range f.Names.Operations.Values {
		wanted[i] = isWanted[name]
	}
	byShape := make(map[trace.Likeness][]int32)
	for r := range f.Rows() {
		if !f.CountsInSums(r) || !wanted[f.Name(r)] || !f.IsDeviceSide(r) || !f.Has(r, trace.FlagStart) {
			continue
		}
		if s := f.Likeness(r); s.FLOPs > 0 || s.Elements > 0 {
			byShape[s] = append(byShape[s], r)
		}
	}
	all := make(map[string][]alike)
	for s, rows := range byShape {
		slices.SortFunc(rows, f.CompareStart)
		if a := l.alikeOf(rows); len(a.rest) > 0 {
			name := f.Names.Operations.Values[s.Name]
			all[name] = append(all[name], a)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b alike) int { return f.CompareStart(a.rows[0], b.rows[0]) })
	}
	return all
}

// alikeOf separates the first call on each device from the others.
func (l *list) alikeOf(rows []int32) alike {
	a := alike{rows: rows, isUnlike: !l.likeLoad(rows)}
	seen := make(map[int32]bool)
	var durations []int64
	for _, r := range rows {
		if d := l.Forest.Device(r); !seen[d] {
			seen[d] = true
			a.first = append(a.first, r)
			continue
		}
		a.rest = append(a.rest, r)
		durations = append(durations, l.Forest.Duration(r))
	}
	if len(durations) > 0 {
		a.median = sketch.Median(durations)
	}
	return a
}

// load is what a shared execution works on, as far as it is known.
type load struct{ weight, attention, links int64 }

// isLike reports whether a has at most a quarter more work than b, and the other way round.
func (a load) isLike(b load) bool {
	isLike := func(a, b int64) bool { return 4*a <= 5*b && 4*b <= 5*a }
	return isLike(a.weight, b.weight) && isLike(a.attention, b.attention) && isLike(a.links, b.links)
}

func loadOf(x *trace.Execution) load {
	sum := func(list []int64) (n int64) {
		for _, w := range list {
			n += w
		}
		return n
	}
	return load{sum(x.Weights), sum(x.Attention), int64(x.Links)}
}

// likeLoad reports whether the shared executions of rows have like loads. Without any it holds.
func (l *list) likeLoad(rows []int32) bool {
	of := l.Forest.Executions.Of
	if of == nil {
		return true
	}
	var first *load
	for _, r := range rows {
		here := load{}
		if of[r] != trace.NoExecution {
			here = loadOf(&l.Forest.Executions.List[of[r]])
		}
		if first == nil {
			first = &here
		}
		if !here.isLike(*first) {
			return false
		}
	}
	return true
}

// unevenCalls finds operations with calls much slower than others of equal shapes. First calls are no such calls.
func (l *list) unevenCalls() (all []candidate) {
	const (
		slower = 2
		few    = 4 // the part of the time that calls with unlike work may have, as the replay shortens them too
	)
	rows := slices.DeleteFunc(l.onDevices(op.KindCompute), func(o profile.Operation) bool { return o.FLOPs <= 0 })
	calls := l.alikeCalls(rows)
	for _, o := range rows {
		var more, unlike, most, longest int64
		var worst alike
		for _, a := range calls[o.Operation] {
			excess, slowest := l.excess(a)
			switch {
			case a.isUnlike || l.Forest.Flops(a.rows[0]) <= 0:
				unlike += max(0, excess)
			case slowest >= slower*a.median:
				more += excess
				if excess > most {
					worst, most, longest = a, excess, slowest
				}
			}
		}
		if !l.enough(more/l.devicesNum) || few*unlike > more {
			continue
		}
		f := says(Operation, Where{Section: "operations", Operation: o.Operation},
			"%s takes %s at the median and up to %s for the same work.", l.named(o.Operation),
			units.Duration(worst.median), units.Duration(longest))
		f.Evidence = []Evidence{
			lasts("median", worst.median), lasts("longest", longest), times("calls", int64(len(worst.rest))),
		}
		f.Try = "look at the slow calls: other work on the device, clocks, cold caches"
		all = append(all, candidate{Finding: f, changes: change(replay.Typical, o.Operation)})
	}
	return all
}

// excess returns the time of calls above their median, without first calls, and the longest of them.
func (l *list) excess(a alike) (more, longest int64) {
	for _, r := range a.rest {
		ns := l.Forest.Duration(r)
		more += ns - a.median
		longest = max(longest, ns)
	}
	return more, longest
}

// firstCalls finds operations of devices whose first call takes far longer than later ones of equal shapes. A first step
// has its own finding.
func (l *list) firstCalls() (all []candidate) {
	const (
		others = 3 // on each device
		slower = 4
	)
	f := l.Forest
	if l.byRequest { // the first request, or the first execution, has it
		return nil
	}
	rows := l.onDevices(op.KindCompute)
	calls := l.alikeCalls(rows)
	for _, o := range rows {
		var more, first, median, n int64
		where := Where{Section: "operations", Operation: o.Operation}
		for _, a := range calls[o.Operation] {
			for _, r := range a.first {
				ns := f.Duration(r)
				inFirst := l.First != nil && f.Start(r) < l.First.EndNS
				if inFirst || a.isUnlike || len(a.rest) < others*len(a.first) || ns < slower*a.median {
					continue
				}
				n++
				if more += ns - a.median; ns > first {
					first, median = ns, a.median
					where.FromNS, where.ToNS = op.Known(f.Start(r)), op.Known(f.End(r))
				}
			}
		}
		if more /= l.devicesNum; !l.enough(more) {
			continue
		}
		var replayed replay.Saving
		if l.replay(&replayed, change(replay.Typical, o.Operation)) {
			more = min(more, max(0, replayed.NS))
		}
		found := says(FirstStep, where, "The first call of %s takes %s, the median of later calls %s. It is start-up.",
			l.named(o.Operation), units.Duration(first), units.Duration(median))
		found.Evidence = []Evidence{lasts("first call", first), lasts("median", median), times("first calls", n)}
		found.Try = "call it once before the loop, or before the traffic"
		all = append(all, candidate{Finding: found, saving: replay.Saving{NS: more}, most: more})
	}
	return all
}
