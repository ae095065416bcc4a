package optrace

import (
	"bytes"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// batch holds encoded records until they are written, all of them at once. It
// is used by one goroutine at a time.
type batch struct {
	// lines holds whole records, each with its newline.
	lines []byte
	// entries and ancestors are how many records of each kind lines holds.
	entries, ancestors int
	// first and last identify the resources of the first and the last record;
	// firstResource is what the header in front of the batch says.
	first, last   attribute.Distinct
	firstResource *op.Resource
	// written is how many entries the writer took, set once that is known.
	written int
}

// outcome is what became of a span.
type outcome uint8

const (
	asNothing outcome = iota // neither an operation nor above one
	asEntry
	asAncestor
)

// addSafe is add for spans of which anything may be expected: one that panics
// leaves nothing behind and is reported.
func (b *batch) addSafe(
	c *converter, s sdktrace.ReadOnlySpan, r root, traces *recentTraces,
) (out outcome, err error) {
	before := len(b.lines)
	defer func() {
		if p := recover(); p != nil {
			b.lines = b.lines[:before]
			out, err = asNothing, fmt.Errorf("traces export: converting a span panicked: %v", p)
		}
	}()
	return b.add(c, s, r, traces), nil
}

// add encodes the span s: an operation as an entry, another span as an
// ancestry record if its trace is known to hold operations.
func (b *batch) add(c *converter, s sdktrace.ReadOnlySpan, r root, traces *recentTraces) outcome {
	id := op.TraceID(s.SpanContext().TraceID())
	if e, ok := c.entry(s, r); ok {
		traces.add(id)
		b.from(c, s)
		b.lines = append(e.AppendJSON(b.lines), '\n')
		b.entries++
		return asEntry
	}
	if !traces.has(id) {
		return asNothing
	}
	b.from(c, s)
	b.lines = append(c.ancestor(s).AppendJSON(b.lines), '\n')
	b.ancestors++
	return asAncestor
}

// from notes the resource of the next record and writes a header where it is
// another one than before.
func (b *batch) from(c *converter, s sdktrace.ReadOnlySpan) {
	r := s.Resource()
	id := r.Equivalent()
	switch {
	case b.firstResource == nil:
		b.first, b.firstResource = id, c.resource(r)
	case id != b.last:
		b.lines = append(op.AppendHeader(b.lines, c.resource(r)), '\n')
	}
	b.last = id
}

// countEntries returns how many complete entry lines text holds.
func countEntries(text []byte) (n uint64) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return n
		}
		if bytes.HasPrefix(text, []byte(`{"step":`)) {
			n++
		}
		text = text[end+1:]
	}
	return n
}

func (b *batch) empty() bool { return len(b.lines) == 0 }

// reset makes b an empty batch that keeps its buffer.
func (b *batch) reset() { *b = batch{lines: b.lines[:0]} }
