package timeline

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Flow leads from one slice to another, given by index.
type Flow struct {
	// Name is the name of the flow's events: "causes" from a span to an operation below it, "link" from the target of a
	// link to its owner.
	Name     string
	From, To int
}

type spanKey struct {
	trace op.TraceID
	span  op.SpanID
}

// Flows yields the flows to each slice with a start, in order: to an operation from its parent span, unless this is an
// operation, and along its links.
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

// targets returns the slices that a flow may come from: spans with starts, and linked operations.
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
