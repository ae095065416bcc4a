package traces

import "go.opentelemetry.io/otel/trace"

// openTraces holds the traces in which local roots are open. Nearly always there
// are a few, and a linear search is faster than a map and does not allocate. Many
// are indexed.
type openTraces struct {
	list  []traceRoots
	index map[trace.TraceID]int // indexes in list; nil while it is short
}

// The list is indexed when it is longer than maxSearched, until it is empty.
const maxSearched = 8

// find returns a trace, or nil. It is valid until the next add
// or remove.
func (t *openTraces) find(id trace.TraceID) *traceRoots {
	if i := t.indexOf(id); i >= 0 {
		return &t.list[i]
	}
	return nil
}

// indexOf returns the index of a trace in the list, negative if it is not there.
func (t *openTraces) indexOf(id trace.TraceID) int {
	if t.index != nil {
		if i, ok := t.index[id]; ok {
			return i
		}
		return -1
	}
	for i := range t.list {
		if t.list[i].id == id {
			return i
		}
	}
	return -1
}

// add adds a trace that is not there.
func (t *openTraces) add(tr traceRoots) {
	t.list = append(t.list, tr)
	switch {
	case t.index != nil:
		t.index[tr.id] = len(t.list) - 1
	case len(t.list) > maxSearched:
		t.index = make(map[trace.TraceID]int)
		for i := range t.list {
			t.index[t.list[i].id] = i
		}
	}
}

// remove removes the trace at an index.
func (t *openTraces) remove(i int) {
	last := len(t.list) - 1
	if t.index != nil {
		t.index[t.list[last].id] = i
		delete(t.index, t.list[i].id)
	}
	t.list[i] = t.list[last]
	t.list[last] = traceRoots{}
	if t.list = t.list[:last]; last == 0 {
		t.index = nil
	}
}
