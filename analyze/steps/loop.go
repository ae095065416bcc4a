package steps

import (
	"sort"

	"github.com/optrace/optrace/analyze/trace"
)

// maxPause is the longest time in nanoseconds in which nothing of a step runs
// although it goes on in another trace.
const maxPause = 1_000_000_000

// loop is what ran on one stream of a device below one request, or below none.
type loop struct {
	loopKey
	service string
	run     int32 // how often it began again
	later   laterStep
	// latest is the state of the step that an operation was last added to.
	latest       *stepState
	latestNumber int64
}

type loopKey struct {
	lane    int32 // the device, with its rank, and the stream
	request int32 // see loops.request
}

// occurrence is the operations of one step in one run of a loop.
type occurrence struct {
	loop   int32
	number int64 // of the step
	// first is the first start, last the last end.
	first, last int64
	// trace is that of the operation that starts first, lastTrace of the one that
	// starts last.
	trace, lastTrace int32
}

// stepKey identifies a step in a loop.
type stepKey struct {
	loop   int32
	number int64
}

// stepState is the latest occurrence of a step in a loop.
type stepState struct {
	occurrence, run int32
	at              int // the place of its latest operation
}

// recentLoop is the loop of a lane that was last asked for.
type recentLoop struct {
	request int32
	number  int32 // 1 more than that of the loop; 0 for none
}

// loops divides operations into occurrences of their steps.
type loops struct {
	f           *trace.Forest
	owners      []int32 // requestOwners
	loops       []loop
	occurrences []occurrence

	numbers map[loopKey]int32
	latest  []recentLoop // of each lane
	states  map[stepKey]*stepState
}

func newLoops(f *trace.Forest) *loops {
	return &loops{
		f: f, owners: f.RequestOwners(), numbers: make(map[loopKey]int32), states: make(map[stepKey]*stepState),
		latest: make([]recentLoop, len(f.Names.Lanes.Values)),
	}
}

// add returns the occurrence that row r belongs to. Rows with a start have to be
// added by start, at counts them.
func (l *loops) add(r int32, at int) int32 {
	f := l.f
	n := l.loopOf(r)
	loop := &l.loops[n]
	key := stepKey{n, f.Step(r)}
	state := loop.latest
	if state == nil || loop.latestNumber != key.number {
		state = l.states[key]
	}
	switch {
	case state == nil:
		state = new(stepState)
		l.states[key] = state
		loop.latest, loop.latestNumber = state, key.number
	case state.run == loop.run && !l.comesAgain(r, state):
		loop.latest, loop.latestNumber = state, key.number
		l.extend(state, r, at)
		return state.occurrence
	case state.run == loop.run:
		loop.run++
	}
	*state = stepState{occurrence: int32(len(l.occurrences)), run: loop.run, at: at}
	loop.later.add(at, key.number)
	l.occurrences = append(l.occurrences, occurrence{
		loop: n, number: key.number, first: f.Start(r), last: f.End(r), trace: f.Trace(r), lastTrace: f.Trace(r),
	})
	return state.occurrence
}

// loopOf returns the number of the loop of row r.
func (l *loops) loopOf(r int32) int32 {
	key := l.key(r)
	if recent := l.latest[key.lane]; recent.number > 0 && recent.request == key.request {
		return recent.number - 1
	}
	n, ok := l.numbers[key]
	if !ok {
		n = int32(len(l.loops))
		l.numbers[key] = n
		l.loops = append(l.loops, loop{loopKey: key, service: l.f.Service(r)})
	}
	l.latest[key.lane] = recentLoop{key.request, n + 1}
	return n
}

func (l *loops) key(r int32) loopKey {
	return loopKey{lane: l.f.Lane(r), request: l.request(r)}
}

// request returns the number of the request that row r belongs to, as
// requestOwners has it, a negative number below trace.NoRow for a shared execution, and
// trace.NoRow for none. A duplicate, which has no place in the tree, belongs where the
// first of its ids does.
func (l *loops) request(r int32) int32 {
	if l.f.Has(r, trace.FlagDuplicate) {
		r = l.f.Tree.Originals[r]
	}
	if e := l.f.ExecutionOf(r, l.owners); e != trace.NoExecution {
		return trace.NoRow - 1 - e
	}
	return l.owners[r]
}

// comesAgain reports whether row r belongs to another iteration than the operations
// of its step before. It does where the loop has begun again, or where it is far from
// them and in another trace, with no request to hold them together.
//
// The loop has begun again if a later step has begun since and nothing of this step is
// running any more. Of two steps in a row one may begin before the other is over, with
// the copy of its data for instance: then the pause has to be as long as what ran of
// this step.
func (l *loops) comesAgain(r int32, state *stepState) bool {
	o := &l.occurrences[state.occurrence]
	pause := timeBetween(o.last, l.f.Start(r))
	later, ok := l.loops[o.loop].later.since(state.at)
	if ok && later > o.number && pause > 0 && (later-o.number > 1 || pause >= timeBetween(o.first, o.last)) {
		return true
	}
	return l.loops[o.loop].request == trace.NoRow && l.f.Trace(r) != o.lastTrace && pause > maxPause
}

// extend adds row r to the occurrence of state.
func (l *loops) extend(state *stepState, r int32, at int) {
	o := &l.occurrences[state.occurrence]
	o.last = max(o.last, l.f.End(r))
	o.lastTrace = l.f.Trace(r)
	state.at = at
	l.loops[o.loop].later.add(at, o.number)
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
	at     int
	number int64
}

// add adds the operation at a place behind all others.
func (l *laterStep) add(at int, number int64) {
	kept := *l
	for len(kept) > 0 && kept[len(kept)-1].number <= number {
		kept = kept[:len(kept)-1]
	}
	*l = append(kept, stepAt{at, number})
}

// since returns the highest step of the operations behind a place.
func (l laterStep) since(at int) (number int64, ok bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].at > at })
	if i == len(l) {
		return 0, false
	}
	return l[i].number, true
}
