package optrace

import (
	"bytes"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// entriesFormat is JSON Lines of the schema optrace.entries/v1.
type entriesFormat struct{}

func (entriesFormat) name() string { return "entries" }

func (entriesFormat) lines() bool { return true }

// accepts refuses what the other formats write, and nothing else.
func (entriesFormat) accepts(head []byte) bool {
	return head[0] != 0 && !bytes.HasPrefix(head, []byte(otlpJSONStart))
}

func (entriesFormat) newEncoder(m *op.Mapping) encoder {
	return &entriesEncoder{conv: newConverter(m)}
}

func (entriesFormat) frame(out []byte, b *batch, f framing) (framed []byte, head int) {
	start := len(out)
	record := op.Batch{Writer: f.writer, Sequence: f.sequence, Entries: int64(b.entries)}
	out = append(record.AppendJSON(out), '\n')
	if f.header {
		out = append(op.AppendHeader(out, b.firstResource), '\n')
	}
	for i := range f.gaps {
		out = append(f.gaps[i].AppendJSON(out), '\n')
	}
	head = len(out) - start
	return append(out, b.records...), head
}

// complete counts the entries' lines that ended.
func (entriesFormat) complete(_ *batch, written []byte) (n int) {
	for len(written) > 0 {
		end := bytes.IndexByte(written, '\n')
		if end < 0 {
			return n
		}
		if bytes.HasPrefix(written, []byte(`{"step":`)) {
			n++
		}
		written = written[end+1:]
	}
	return n
}

// join appends the records of another batch.
func (entriesFormat) join(b, more *batch) {
	if b.firstResource == nil {
		b.first, b.firstResource = more.first, more.firstResource
	} else if more.first != b.last {
		b.records = append(op.AppendHeader(b.records, more.firstResource), '\n')
	}
	b.records = append(b.records, more.records...)
	b.last = more.last
	b.entries += more.entries
	b.ancestors += more.ancestors
}

// entriesEncoder appends entries and ancestry records as lines.
type entriesEncoder struct{ conv *converter }

func (c *entriesEncoder) isOperation(s sdktrace.ReadOnlySpan) bool {
	_, ok := c.conv.entry(s, root{})
	return ok
}

func (c *entriesEncoder) add(b *batch, s sdktrace.ReadOnlySpan, r root, traces *recentTraces) outcome {
	id := op.TraceID(s.SpanContext().TraceID())
	if e, ok := c.conv.entry(s, r); ok {
		traces.add(id)
		c.from(b, s.Resource())
		b.records = append(e.AppendJSON(b.records), '\n')
		b.entries++
		return asEntry
	}
	if !traces.has(id) {
		return asNothing
	}
	c.from(b, s.Resource())
	b.records = append(c.conv.ancestor(s).AppendJSON(b.records), '\n')
	b.ancestors++
	return asAncestor
}

// from notes the resource of the next record and writes a header where it is
// another one than before.
func (c *entriesEncoder) from(b *batch, r *resource.Resource) {
	id := r.Equivalent()
	switch {
	case b.firstResource == nil:
		b.first, b.firstResource = id, c.conv.resource(r)
	case id != b.last:
		b.records = append(op.AppendHeader(b.records, c.conv.resource(r)), '\n')
	}
	b.last = id
}

// addEntry implements entryEncoder.
func (c *entriesEncoder) addEntry(b *batch, e *op.Entry, r *resource.Resource, traces *recentTraces) {
	res := c.conv.resource(r)
	e.Service = res.Service
	if !e.Rank.Known {
		e.Rank = res.Rank
	}
	traces.add(e.TraceID)
	c.from(b, r)
	b.records = append(e.AppendJSON(b.records), '\n')
	b.entries++
}
