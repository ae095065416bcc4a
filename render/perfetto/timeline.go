package perfetto

import (
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/timeline"
)

// Timeline collects operations and spans and needs memory for each. The zero value is ready to use. It is not safe for
// concurrent use.
type Timeline struct {
	events timeline.Timeline
	keys   symbols.Table[string] // of annotations
}

// Add adds an operation. It retains only the strings of e.
func (t *Timeline) Add(e *op.Entry) {
	t.events.Add(e, t.annotations(timeline.EntryArguments(e)))
}

// AddSpan adds a span that is not an operation.
func (t *Timeline) AddSpan(s *op.Span) {
	t.events.AddSpan(s, t.annotations(timeline.SpanArguments(s)))
}

const writeBytes = 192 // the memory for writing each operation or span: its flows, and the values of counters

// Bytes returns about how much memory the operations and spans take, including memory for writing them.
func (t *Timeline) Bytes() int64 {
	return t.events.Bytes() + t.keys.Bytes(func(key string) int { return len(key) }) +
		int64(len(t.events.Slices))*writeBytes
}
