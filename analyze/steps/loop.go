package steps

import (
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// maxPause is the longest pause within a step, in nanoseconds, if it continues in another trace.
const maxPause = 1_000_000_000

// loop is the operations on one stream of a device below one request, or without one, since the loop last began.
type loop struct {
	latest map[int64]*part // the operations of each step
	last   *part
	later  laterStep
}

// request returns the request of row r: its number in RequestOwners, a number below trace.NoRow for a shared execution,
// or trace.NoRow. A duplicate belongs to the request of its original.
func (s *search) request(r int32) int32 {
	if s.forest.Has(r, trace.FlagDuplicate) {
		r = s.forest.Tree.Originals[r]
	}
	if e := s.forest.ExecutionOf(r, s.owners); e != trace.NoExecution {
		return trace.NoRow - 1 - e
	}
	return s.owners[r]
}

func (s *search) addLane(lane int32, places []int32) {
	loops := make(map[int32]*loop) // by request
	var of *loop
	var last int32
	for _, at := range places {
		request := s.request(s.rows[at])
		if of == nil || request != last {
			of = order.At(loops, request)
			last = request
		}
		s.addTo(of, lane, request, at)
	}
}

// addTo adds the operation at a place to its step in a loop.
func (s *search) addTo(l *loop, lane, request, at int32) {
	f := s.forest
	r := s.rows[at]
	number := f.Step(r)
	p := l.last
	if p == nil || p.number != number {
		p = l.latest[number]
	}
	if l.latest == nil || p != nil && s.comesAgain(l, p, r) {
		l.latest = make(map[int64]*part)
		p = nil
	}
	if p == nil {
		p = &part{
			step: step{f.Service(r), number}, requests: []int32{request}, lanes: []int32{lane},
			first: f.Start(r), last: f.End(r), trace: f.Trace(r),
		}
		l.latest[number] = p
		s.parts = append(s.parts, p)
	}
	l.last = p
	p.places = append(p.places, at)
	p.last = max(p.last, f.End(r))
	p.lastTrace = f.Trace(r)
	l.later.add(at, number)
}

// comesAgain reports whether row r begins another iteration of the step of p: the loop has begun again, or, without a
// request, r is in another trace after a long pause. A loop has begun again if a later step has begun and p has ended.
// The next step may begin early, with the copy of its data: then the pause must be as long as p.
func (s *search) comesAgain(l *loop, p *part, r int32) bool {
	pause := timeBetween(p.last, s.forest.Start(r))
	later, ok := l.later.since(p.places[len(p.places)-1])
	if ok && later > p.number && pause > 0 && (later-p.number > 1 || pause >= timeBetween(p.first, p.last)) {
		return true
	}
	return p.requests[0] == trace.NoRow && s.forest.Trace(r) != p.lastTrace && pause > maxPause
}

// timeBetween returns the time from end to start, 0 unless start is later.
func timeBetween(end, start int64) uint64 {
	if start <= end {
		return 0
	}
	return uint64(start) - uint64(end)
}

// laterStep finds the highest step begun after some operation. It holds the steps not exceeded by later ones, by place.
type laterStep []stepAt

type stepAt struct {
	place  int32
	number int64
}

func (l *laterStep) add(place int32, number int64) {
	kept := *l
	for len(kept) > 0 && kept[len(kept)-1].number <= number {
		kept = kept[:len(kept)-1]
	}
	*l = append(kept, stepAt{place, number})
}

// since returns the highest step of the operations behind a place.
func (l laterStep) since(place int32) (number int64, ok bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].place > place })
	if i == len(l) {
		return 0, false
	}
	return l[i].number, true
}
