package steps

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

type step struct {
	service string
	number  int64
}

// part is operations of one step: at first on one stream below one request, in the end an iteration.
type part struct {
	step
	places   []int32 // by start
	requests []int32 // as search.request returns them
	lanes    []int32
	// first is the first start, last the last end.
	first, last int64
	// trace is the trace of the first operation, lastTrace of the last one on the stream with the latest end.
	trace, lastTrace int32
	// next is the next start of a part on one of the lanes, possibly outdated, math.MaxInt64 without another part.
	next int64
}

// search finds the iterations of rows. Operations go by their places in rows.
type search struct {
	*Iterations
	owners []int32 // RequestOwners
	parts  []*part
}

// find assigns rows, sorted by start, to iterations numbered by start. Iterations without a start come last.
//
// Operations of one step belong to different iterations if their services differ, or if they are on one stream of a
// device and
//   - below different requests, or only one is below a request,
//   - apart in a loop that began again in between, see search.comesAgain,
//   - below no request, in different traces and more than a second apart.
//
// Parts on different lanes meet in the order of their starts, first within a request: each joins the overlapping or
// nearest part. Operations without a start belong to the first iteration of their request.
func (it *Iterations) find() {
	f := it.forest
	rows := it.rows
	s := &search{Iterations: it, owners: f.RequestOwners()}
	started := startedOf(f, rows)
	lane := func(at int32) int32 { return f.Lane(rows[at]) }
	places, first := order.Group(int32(started), len(f.Names.Lanes.Values), nil, lane)
	for lane := range int32(len(first) - 1) {
		s.addLane(lane, places[first[lane]:first[lane+1]])
	}
	type owner struct {
		step
		request int32
	}
	numbers := make(map[owner]int32) // of the first iteration
	number := func(o owner, n int32) int32 {
		if _, ok := numbers[o]; !ok {
			numbers[o] = n
		}
		return numbers[o]
	}
	for n, p := range s.iterations() {
		it.count++
		for _, at := range p.places {
			it.of[rows[at]] = int32(n)
		}
		for _, request := range p.requests {
			number(owner{p.step, request}, int32(n))
		}
	}
	for _, r := range rows[started:] {
		it.of[r] = number(owner{step{f.Service(r), f.Step(r)}, s.request(r)}, int32(it.count))
		it.count = max(it.count, int(it.of[r])+1)
	}
}

// iterations joins the parts of different lanes, and returns the iterations by start.
func (s *search) iterations() (all []*part) {
	byPlace := func(a, b *part) int { return cmp.Compare(a.places[0], b.places[0]) }
	slices.SortFunc(s.parts, func(a, b *part) int {
		return cmp.Or(strings.Compare(a.service, b.service), cmp.Compare(a.number, b.number),
			cmp.Compare(a.requests[0], b.requests[0]), byPlace(a, b))
	})
	requestOf := func(p **part) int32 { return (*p).requests[0] }
	for ofStep := range order.RunsOf(s.parts, func(p **part) step { return (*p).step }) {
		var parts []*part
		for mine := range order.RunsOf(ofStep, requestOf) {
			if requestOf(&mine[0]) != trace.NoRow {
				mine = meet(mine)
			}
			parts = append(parts, mine...)
		}
		slices.SortFunc(parts, byPlace)
		all = append(all, meet(parts)...)
	}
	slices.SortFunc(all, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), byPlace(a, b))
	})
	return all
}

// lane is the state of a device's stream in meet.
type lane struct {
	behind int     // number of iterations up to the last with a part of the lane
	starts []int64 // of the lane's later parts
}

type lanes map[int32]*lane

// meet joins parts of different lanes, sorted by start. A part joins the nearest iteration behind the last iteration of
// its lanes, unless a later part of a lane there is nearer.
func meet(parts []*part) []*part {
	all := make(lanes)
	for _, p := range parts {
		for _, n := range p.lanes {
			l := order.At(all, n)
			l.starts = append(l.starts, p.first)
		}
	}
	var met []*part
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

// next returns the start of the next part on some lanes, math.MaxInt64 without one.
func (l lanes) next(of []int32) int64 {
	next := int64(math.MaxInt64)
	for _, n := range of {
		if starts := l[n].starts; len(starts) > 0 {
			next = min(next, starts[0])
		}
	}
	return next
}

// nearest returns the index of the candidate for p to join, or len(candidates).
func (l lanes) nearest(candidates []*part, p *part) int {
	best := len(candidates)
	distance := uint64(math.MaxUint64)
	for i, c := range candidates {
		d := timeBetween(c.last, p.first)
		if d > maxPause && c.lastTrace != p.trace {
			continue // as on one lane
		}
		if d < distance {
			best = i
			distance = d
		}
		if d == 0 {
			break
		}
	}
	if best == len(candidates) {
		return best
	}
	c := candidates[best]
	if c.next <= p.first { // outdated
		c.next = l.next(c.lanes)
	}
	if timeBetween(p.last, c.next) < distance {
		return len(candidates)
	}
	return best
}

// absorb adds o, a later part, to p and leaves no places in o.
func (p *part) absorb(o *part) {
	p.places = append(p.places, o.places...)
	o.places = nil
	p.requests = append(p.requests, o.requests...)
	p.lanes = append(p.lanes, o.lanes...)
	if o.last > p.last {
		p.last = o.last
		p.lastTrace = o.lastTrace
	}
	p.next = min(p.next, o.next)
}
