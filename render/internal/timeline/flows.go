package timeline

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Flow leads from one slice to another, given by their places among the slices.
type Flow struct {
	// Name is that of events which show the flow: "causes" from a span to an operation whose parent it is, "link" to
	// what has a link to where the flow comes from.
	Name     string
	From, To int
}

type spanKey struct {
	trace op.TraceID
	span  op.SpanID
}

// Flows yields what leads to each slice that has a start, in their order: to an
// operation from the span that caused it, unless that span is an operation, and along
// its links.
func (t *Timeline) Flows() iter.Seq[Flow] {
	return func(yield func(Flow) bool) {
		spans := t.targets()
		for i := range t.Slices {
			s := &t.Slices[i]
			if s.Bare {
				continue
			}
			if !s.IsService && !s.parent.IsZero() {
				from, ok := spans[spanKey{s.trace, s.parent}]
				if ok && t.Slices[from].IsService && !yield(Flow{"causes", from, i}) {
					return
				}
			}
			for _, l := range s.links {
				from, ok := spans[spanKey{l.TraceID, l.SpanID}]
				if ok && from != i && !yield(Flow{"link", from, i}) {
					return
				}
			}
		}
	}
}

// targets returns the slices with starts that a flow may come from: the spans that are no
// operations, and the operations if there are links.
func (t *Timeline) targets() map[spanKey]int {
	linked := make(map[spanKey]bool)
	for i := range t.Slices {
		for _, l := range t.Slices[i].links {
			linked[spanKey{l.TraceID, l.SpanID}] = true
		}
	}
	spans := make(map[spanKey]int)
	for i := range t.Slices {
		s := &t.Slices[i]
		key := spanKey{s.trace, s.span}
		if s.span.IsZero() || s.Bare || s.again || !s.IsService && !linked[key] {
			continue
		}
		spans[key] = i
	}
	return spans
}
