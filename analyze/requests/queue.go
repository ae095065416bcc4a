package requests

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// queueFinder finds when requests waited in a queue. A queue is recorded by a span of a phase below the request, such as
// "queue", or else by an attribute of an engine, or else by executions of the request's engine: they ran for others
// between its start and its first execution. Other time before the first operation is the host's.
type queueFinder struct {
	forest  *trace.Forest
	spans   map[int32][]path.Window // by request, from phases or attributes
	engines map[string][]*Execution // by service and start
	longest int64                   // execution, in ns
}

// isQueue reports whether the name of a span has the word queue, queued or queueing.
func isQueue(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return w == "queue" || w == "queued" || w == "queueing" })
}

func (r *Requests) queueFinder() *queueFinder {
	f := r.forest
	q := &queueFinder{forest: f, spans: make(map[int32][]path.Window), engines: make(map[string][]*Execution)}
	owner := f.RequestOwners()
	named := make(map[int32]bool) // by span name
	for row := range f.Rows() {
		if f.Flags(row)&(trace.FlagOp|trace.FlagStart|trace.FlagDuplicate) != trace.FlagStart || owner[row] == trace.NoRow {
			continue
		}
		is, known := named[f.Name(row)]
		if !known {
			is = isQueue(f.RowName(row))
			named[f.Name(row)] = is
		}
		if is && owner[row] != row {
			q.add(owner[row], path.Window{Row: row, From: f.Start(row), To: f.End(row)})
		}
	}
	phases := len(q.spans)
	for e := range engines.Find(f, nil, key.Filter{}).All {
		row := e.Node.Row
		if _, known := q.spans[owner[row]]; e.QueueNS.V > 0 && (phases == 0 || !known) && f.Has(row, trace.FlagStart) {
			q.add(owner[row], path.Window{Row: row, From: f.Start(row), To: f.Start(row) + min(e.QueueNS.V, f.Duration(row))})
		}
	}
	for i := range r.Shared {
		if e := &r.Shared[i]; e.StartNS.Known {
			q.engines[e.Service] = append(q.engines[e.Service], e)
			q.longest = max(q.longest, e.DurationNS)
		}
	}
	for _, list := range q.engines {
		slices.SortFunc(list, func(a, b *Execution) int { return cmp.Compare(a.StartNS.V, b.StartNS.V) })
	}
	return q
}

func (q *queueFinder) add(request int32, w path.Window) {
	if request != trace.NoRow && int(request) < q.forest.Len() {
		q.spans[request] = append(q.spans[request], w)
	}
}

// times returns when a request waited in a queue before its first operation.
func (q *queueFinder) times(r *Request) (times timeline.Times) {
	if !r.StartNS.Known || r.Root.IsZero() {
		return nil
	}
	from, to := r.StartNS.V, r.StartNS.V+r.DurationNS.V
	if r.QueueingNS.Known {
		to = from + r.QueueingNS.V
	}
	add := func(start, end int64) { times.Add(max(start, from), min(end, to)) }
	if spans := q.spans[r.Root.Row]; spans != nil {
		slices.SortFunc(spans, func(a, b path.Window) int { return cmp.Compare(a.From, b.From) })
		for _, w := range spans {
			add(w.From, w.To)
		}
		return times
	}
	var first *Execution
	for _, p := range r.shared {
		if e := p.execution; e.StartNS.Known && (first == nil || e.StartNS.V < first.StartNS.V) {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	to = max(from, min(to, first.StartNS.V))
	list := q.engines[first.Service]
	at := func(ns int64) int {
		return sort.Search(len(list), func(i int) bool { return list[i].StartNS.V >= ns })
	}
	for _, e := range list[at(from-q.longest):at(to)] {
		add(e.StartNS.V, q.forest.End(e.Root.Row))
	}
	return times
}

// Queued returns the time of a request of r in a recorded queue before its first operation, in ns.
func (r *Requests) Queued(q *Request) int64 {
	if r.queue == nil {
		r.queue = r.queueFinder()
	}
	const everything = int64(1) << 62
	return r.queue.times(q).Within(-everything, everything)
}
