package steps

import (
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// maxPause is the longest time in nanoseconds in which nothing of a step runs
// although it goes on in another trace.
const maxPause = 1_000_000_000

// loop is what ran on one stream of a device below one request, or below none, since it began
// for the first time or again.
type loop struct {
	latest map[int64]*part // the operations of each step
	later  laterStep
}

// request returns the number of the request that row r belongs to, as RequestOwners has it, a number below trace.NoRow
// for a shared execution, and trace.NoRow for none. A duplicate belongs where the first of its ids does.
func (s *search) request(r int32) int32 {
	if s.forest.Has(r, trace.FlagDuplicate) {
		r = s.forest.Tree.Originals[r]
	}
	if e := s.forest.ExecutionOf(r, s.owners); e != trace.NoExecution {
		return trace.NoRow - 1 - e
	}
	return s.owners[r]
}

// addLane adds the parts of one stream of a device, given the places of its operations.
func (s *search) addLane(lane int32, places []int32) {
	loops := make(map[int32]*loop) // by request
	for _, at := range places {
		request := s.request(s.rows[at])
		s.addTo(order.At(loops, request), lane, request, at)
	}
}

// addTo adds the operation at a place to its step in a loop.
func (s *search) addTo(l *loop, lane, request, at int32) {
	f, r := s.forest, s.rows[at]
	number := f.Step(r)
	p := l.latest[number]
	if l.latest == nil || p != nil && s.comesAgain(l, p, r) {
		l.latest, p = make(map[int64]*part), nil
	}
	if p == nil {
		p = &part{
			step: step{f.Service(r), number}, requests: []int32{request}, lanes: []int32{lane},
			first: f.Start(r), last: f.End(r), trace: f.Trace(r),
		}
		l.latest[number] = p
		s.parts = append(s.parts, p)
	}
	p.places = append(p.places, at)
	p.last, p.lastTrace = max(p.last, f.End(r)), f.Trace(r)
	l.later.add(at, number)
}

// comesAgain reports whether row r belongs to another iteration than the operations of its step before: where the loop
// has begun again, or where r is far from them and in another trace, with no request to hold them together. The loop has
// begun again if a later step has begun since and nothing of this step is running any more. The step that follows may
// begin before this one is over, with the copy of its data: then the pause has to be as long as what ran of this step.
func (s *search) comesAgain(l *loop, p *part, r int32) bool {
	pause := timeBetween(p.last, s.forest.Start(r))
	later, ok := l.later.since(p.places[len(p.places)-1])
	if ok && later > p.number && pause > 0 && (later-p.number > 1 || pause >= timeBetween(p.first, p.last)) {
		return true
	}
	return p.requests[0] == trace.NoRow && s.forest.Trace(r) != p.lastTrace && pause > maxPause
}

// timeBetween returns the time from end to start, 0 when start is not later.
func timeBetween(end, start int64) uint64 {
	if start <= end {
		return 0
	}
	return uint64(start) - uint64(end)
}

// laterStep tells the highest step that began after some operation. It holds,
// in the order of their operations, the steps that no later one has exceeded.
type laterStep []stepAt

type stepAt struct {
	place  int32
	number int64
}

// add adds the operation at a place behind all others.
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
