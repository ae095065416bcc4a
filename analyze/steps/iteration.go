package steps

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// iteration is occurrences of one step on different devices and streams of a service
// that belong together.
type iteration struct {
	occurrences []int32
	lanes       []int32
	// first is the first start, last the last end.
	first, last int64
	// trace is that of the operation that starts first, lastTrace that of the
	// occurrence that ends last.
	trace, lastTrace int32
	// next is when the next part of one of the lanes that is still to come starts,
	// or when one started that has come; math.MaxInt64 for never.
	next int64
}

// iterationsOf returns for each of the rows, which are by start, the number of
// the iteration that it belongs to, and how many there are. They are numbered by
// start, those without one last.
//
// Operations of one step are of different iterations when they are of different
// services, or on one stream of a device and
//   - below different requests, or below one and below none,
//   - apart in a loop that began again in between: see loops.comesAgain,
//   - below no request, in different traces and more than a second apart.
//
// Occurrences on different devices and streams meet in the order of their starts: each meets
// the one that it overlaps or lies next to, first those of the same request.
// Operations without a start belong to the first iteration of their request.
func (l *loops) iterationsOf(rows []int32) (of []int32, count int) {
	started := slices.IndexFunc(rows, func(r int32) bool { return !l.f.Has(r, trace.FlagStart) })
	if started < 0 {
		started = len(rows)
	}
	of = make([]int32, len(rows))
	for i, r := range rows[:started] {
		of[i] = l.add(r, i)
	}
	iterations := l.iterations()
	byOccurrence := make([]int32, len(l.occurrences))
	for n, it := range iterations {
		for _, o := range it.occurrences {
			byOccurrence[o] = int32(n)
		}
	}
	for i := range started {
		of[i] = byOccurrence[of[i]]
	}
	return of, len(iterations) + l.addTimeless(rows[started:], of[started:], byOccurrence, len(iterations))
}

// iterations joins the occurrences of different devices and streams, and returns the
// iterations by start.
func (l *loops) iterations() []*iteration {
	byStep := make([]int32, len(l.occurrences))
	for i := range byStep {
		byStep[i] = int32(i)
	}
	slices.SortStableFunc(byStep, func(a, b int32) int {
		x, y := l.stepOf(&a), l.stepOf(&b)
		return cmp.Or(strings.Compare(x.service, y.service), cmp.Compare(x.number, y.number))
	})
	var all []*iteration
	for occurrences := range order.RunsOf(byStep, l.stepOf) {
		all = append(all, l.join(occurrences)...)
	}
	slices.SortStableFunc(all, func(a, b *iteration) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), int(a.occurrences[0])-int(b.occurrences[0]))
	})
	return all
}

// step is a step of a service.
type step struct {
	service string
	number  int64
}

func (l *loops) stepOf(occurrence *int32) step {
	o := &l.occurrences[*occurrence]
	return step{l.loops[o.loop].service, o.number}
}

// join returns the iterations of the occurrences of one step in a service, which
// are in the order of their first operations.
func (l *loops) join(occurrences []int32) []*iteration {
	byRequest := slices.Clone(occurrences)
	slices.SortStableFunc(byRequest, func(a, b int32) int { return int(l.requestOf(&a)) - int(l.requestOf(&b)) })
	var parts []*iteration
	for of := range order.RunsOf(byRequest, l.requestOf) {
		mine := l.single(of)
		if l.requestOf(&of[0]) != trace.NoRow {
			mine = meet(mine)
		}
		parts = append(parts, mine...)
	}
	slices.SortStableFunc(parts, func(a, b *iteration) int {
		return cmp.Or(cmp.Compare(a.first, b.first), int(a.occurrences[0])-int(b.occurrences[0]))
	})
	return meet(parts)
}

func (l *loops) requestOf(occurrence *int32) int32 {
	return l.loops[l.occurrences[*occurrence].loop].request
}

// single returns an iteration for each of the occurrences.
func (l *loops) single(occurrences []int32) []*iteration {
	list := make([]*iteration, len(occurrences))
	for i, n := range occurrences {
		o := &l.occurrences[n]
		list[i] = &iteration{
			occurrences: []int32{n}, lanes: []int32{l.loops[o.loop].lane},
			first: o.first, last: o.last, trace: o.trace, lastTrace: o.lastTrace,
		}
	}
	return list
}

// lane is what is known of a device and stream while parts meet.
type lane struct {
	behind int     // how many iterations there are up to the last one with a part of the lane
	starts []int64 // of its parts that are still to come
}

type lanes map[int32]*lane

// meet joins parts of different lanes, which are by start. A part joins the
// nearest iteration behind that of its lanes' part before, unless a part of a
// lane there that is still to come is nearer to it.
func meet(parts []*iteration) []*iteration {
	all := make(lanes)
	for _, p := range parts {
		for _, n := range p.lanes {
			if all[n] == nil {
				all[n] = new(lane)
			}
			all[n].starts = append(all[n].starts, p.first)
		}
	}
	var met []*iteration
	for _, p := range parts {
		from := 0
		for _, n := range p.lanes {
			from = max(from, all[n].behind)
			all[n].starts = all[n].starts[1:]
		}
		p.next = all.next(p.lanes)
		at := from + all.nearest(met[from:], p)
		if at < len(met) {
			met[at].absorb(p)
		} else {
			met = append(met, p)
		}
		for _, n := range p.lanes {
			all[n].behind = at + 1
		}
	}
	return met
}

// next returns when the next part of some lanes starts, math.MaxInt64 for never.
func (l lanes) next(of []int32) int64 {
	next := int64(math.MaxInt64)
	for _, n := range of {
		if starts := l[n].starts; len(starts) > 0 {
			next = min(next, starts[0])
		}
	}
	return next
}

// nearest returns the place of the iteration that p joins, the number of
// candidates for none.
func (l lanes) nearest(candidates []*iteration, p *iteration) int {
	best, distance := len(candidates), uint64(math.MaxUint64)
	for i, c := range candidates {
		d := timeBetween(c.last, p.first)
		if d > maxPause && c.lastTrace != p.trace {
			continue // as on one lane
		}
		if d < distance {
			best, distance = i, d
		}
		if d == 0 {
			break
		}
	}
	if best == len(candidates) {
		return best
	}
	c := candidates[best]
	if c.next <= p.first { // it may have come
		c.next = l.next(c.lanes)
	}
	if timeBetween(p.last, c.next) < distance {
		return len(candidates)
	}
	return best
}

// absorb adds p, which starts later, to the iteration.
func (it *iteration) absorb(p *iteration) {
	it.occurrences = append(it.occurrences, p.occurrences...)
	it.lanes = append(it.lanes, p.lanes...)
	if p.last > it.last {
		it.last, it.lastTrace = p.last, p.lastTrace
	}
	it.next = min(it.next, p.next)
}

// addTimeless numbers the iterations of rows without a start, given those of the
// occurrences, and returns how many are new.
func (l *loops) addTimeless(rows, of, byOccurrence []int32, count int) int {
	if len(rows) == 0 {
		return 0
	}
	type key struct {
		service string
		request int32
		number  int64
	}
	first := make(map[key]int32)
	for i, o := range l.occurrences {
		loop := &l.loops[o.loop]
		k := key{loop.service, loop.request, o.number}
		if n, ok := first[k]; !ok || byOccurrence[i] < n {
			first[k] = byOccurrence[i]
		}
	}
	added := 0
	for i, r := range rows {
		k := key{l.f.Service(r), l.request(r), l.f.Step(r)}
		n, ok := first[k]
		if !ok {
			n = int32(count + added)
			first[k] = n
			added++
		}
		of[i] = n
	}
	return added
}
