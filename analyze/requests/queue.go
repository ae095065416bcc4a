package requests

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// queueFinder finds the times of requests in a queue. It takes the first available evidence:
//   - a span of a phase below the request, such as "queue"
//   - the queue time stated by an engine
//   - executions of the request's engine for others, between the request's start and its first execution
//   - a device serving one request after the other
//
// Other time before the first operation belongs to the host: spans that end before the first execution, and time before
// an execution with room for the request.
type queueFinder struct {
	forest  *trace.Forest
	spans   map[int32][]path.Window // by request, from phases or attributes
	over    map[int32][]path.Window // other spans below each request
	engines map[*Execution]*engine
	turns   map[int32]timeline.Times // of devices serving one request at a time, by request
}

// queued is the time of a request in a queue: the part of times between from and to. Before from the request was not at
// the engine yet.
type queued struct {
	times    timeline.Times
	from, to int64
	idle     int64 // the part of times of a recorded span in which its engine runs nothing
	working  int64 // the part in which it works
}

// window returns the time of requests in the queue of an idle engine beyond what its host takes before an execution: as long
// as requests wait that have waited for a working engine before, longer than others do for an idle one. It is 0 if few do.
func window(all []queued) (ns int64) {
	const few = 5
	var alone, behind []int64
	for _, q := range all {
		if q.working == 0 && q.idle > 0 {
			alone = append(alone, q.idle)
		}
	}
	if len(alone) < few {
		return 0
	}
	usual := sketch.Median(alone)
	for _, q := range all {
		if q.working >= usual {
			behind = append(behind, q.idle)
		}
	}
	if len(behind) < few || usual < 2*sketch.Median(behind) {
		return 0
	}
	for _, q := range all {
		ns += max(0, q.idle-sketch.Median(behind))
	}
	return ns
}

// within returns the waiting time between from and to.
func (q *queued) within(from, to int64) int64 {
	from = max(from, q.from)
	return q.times.Within(from, max(from, min(to, q.to)))
}

// isQueue reports whether the name of a span has the word queue, queued or queueing.
func isQueue(name string) bool { return hasWord(name, "queue", "queued", "queueing") }

// IsWait reports whether a span may be a time in a queue, by its name.
func IsWait(name string) bool {
	return isQueue(name) ||
		hasWord(name, "wait", "waiting", "pending", "admission", "schedule", "scheduling", "batching")
}

// Came returns where requests came to their engine, by row: the row of the last span below each that is over before its
// first execution and no wait, or itself without one. Behind a failed call it is the call that repeats it, at its begin: the
// only one that ends later. first has the starts of the first executions.
func Came(f *trace.Forest, owner []int32, first map[int32]int64) map[int32]int32 {
	came := make(map[int32]int32)
	for r := range f.Rows() {
		of := owner[r]
		if from, known := first[of]; known && of != r && f.Flags(r)&(trace.FlagOp|trace.FlagStart) == trace.FlagStart &&
			f.End(r) <= from && !IsWait(f.RowName(r)) {
			if last, known := came[of]; !known || f.End(r) > f.End(last) {
				came[of] = r
			}
		}
	}
	again := selection.Again(f)
	for r := range first {
		if last, known := came[r]; !known {
			came[r] = r
		} else if next, isRepeated := again[last]; isRepeated {
			came[r] = next
		}
	}
	return came
}

func hasWord(name string, of ...string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
}

func (r *Requests) queueFinder() *queueFinder {
	f := r.forest
	q := &queueFinder{
		forest: f, spans: make(map[int32][]path.Window), over: make(map[int32][]path.Window), engines: r.findEngines(),
		turns: r.findTurns(),
	}
	owner := f.RequestOwners()
	named := make(map[int32]bool) // by span name
	for row := range f.Rows() {
		flags := f.Flags(row) & (trace.FlagOp | trace.FlagStart | trace.FlagDuplicate)
		if flags != trace.FlagStart || owner[row] == trace.NoRow {
			continue
		}
		is, known := named[f.Name(row)]
		if !known {
			is = isQueue(f.RowName(row))
			named[f.Name(row)] = is
		}
		if owner[row] == row {
			continue
		}
		w := path.Window{Row: row, From: f.Start(row), To: f.End(row)}
		if is {
			q.add(owner[row], w)
		} else if !IsWait(f.RowName(row)) {
			q.over[owner[row]] = append(q.over[owner[row]], w)
		}
	}
	phases := len(q.spans)
	for e := range engines.Find(f, nil, key.Filter{}).All {
		row := e.Node.Row
		if _, known := q.spans[owner[row]]; e.QueueNS.V > 0 && (phases == 0 || !known) && f.Has(row, trace.FlagStart) {
			w := path.Window{Row: row, From: f.Start(row), To: f.Start(row) + min(e.QueueNS.V, f.Duration(row))}
			q.add(owner[row], w)
		}
	}
	return q
}

func (q *queueFinder) add(request int32, w path.Window) {
	if request != trace.NoRow && int(request) < q.forest.Len() {
		q.spans[request] = append(q.spans[request], w)
	}
}

// of returns the time of a request in a queue before its first operation.
func (q *queueFinder) of(r *Request) (waited queued) {
	if !r.StartNS.Known || r.Root.IsZero() {
		return waited
	}
	waited.from = r.StartNS.V
	waited.to = r.StartNS.V + r.DurationNS.V
	if r.QueueingNS.Known {
		waited.to = waited.from + r.QueueingNS.V
	}
	var first *Execution
	for _, p := range r.shared {
		if e := p.execution; e.StartNS.Known && (first == nil || e.StartNS.V < first.StartNS.V) {
			first = e
		}
	}
	if spans := q.spans[r.Root.Row]; spans != nil {
		slices.SortFunc(spans, func(a, b path.Window) int { return cmp.Compare(a.From, b.From) })
		waited.from = max(waited.from, spans[0].From)
		for _, w := range spans {
			waited.times.Add(w.From, w.To)
			if to := min(w.To, waited.to); first != nil && w.From < to {
				working := q.engines[first].working.Within(w.From, to)
				waited.idle += to - w.From - working
				waited.working += working
			}
		}
		return waited
	}
	begin := waited.to
	if first != nil {
		begin = first.StartNS.V
	}
	for _, w := range q.over[r.Root.Row] {
		if w.To <= begin {
			waited.from = max(waited.from, w.To)
		}
	}
	if first == nil {
		waited.times = q.turns[r.Root.Row]
		return waited
	}
	e := q.engines[first]
	waited.from = max(waited.from, e.absentUntil(first.StartNS.V))
	waited.to = max(waited.from, min(waited.to, first.StartNS.V))
	waited.times = e.busy
	return waited
}

// Queued returns the time of a request of r in a recorded queue before its first operation, in ns.
func (r *Requests) Queued(q *Request) int64 {
	if r.queue == nil {
		r.queue = r.queueFinder()
	}
	const everything = int64(1) << 62
	waited := r.queue.of(q)
	return waited.within(-everything, everything)
}
