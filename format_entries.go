package optrace

import (
	"bytes"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/attrcache"
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

func (entriesFormat) newEncoder(m *op.Mapping, memoBytes int) encoder {
	return &entriesEncoder{conv: newConverter(m), memo: attrcache.New[entryLine](memoBytes, true)}
}

func (entriesFormat) frame(b *batch, f *framing) (framed []byte, head int) {
	out := f.scratch
	if f.newline {
		out = append(out, '\n')
	}
	record := op.Batch{Writer: f.writer, Sequence: f.sequence, Entries: int64(b.entries)}
	out = append(record.AppendJSON(out), '\n')
	if f.header {
		out = append(op.AppendHeader(out, b.firstResource), '\n')
	}
	for i := range f.gaps {
		out = append(f.gaps[i].AppendJSON(out), '\n')
	}
	head = len(out)
	framed, f.scratch = b.between(out, nil)
	return framed, head
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

// join appends records that were encoded for another batch.
func (entriesFormat) join(b, more *batch, records []byte) {
	if b.firstResource == nil {
		b.first, b.firstResource = more.first, more.firstResource
	} else if more.first != b.last {
		b.records = append(op.AppendHeader(b.records, more.firstResource), '\n')
	}
	b.records = append(b.records, records...)
	b.last = more.last
	b.entries += more.entries
	b.ancestors += more.ancestors
}

// entriesEncoder appends entries and ancestry records as lines.
type entriesEncoder struct {
	conv   *converter
	memo   attrcache.Cache[entryLine]
	filler lineFiller
}

func (c *entriesEncoder) isOperation(s sdktrace.ReadOnlySpan) bool {
	v := viewOf(s, s.SpanContext(), s.Parent())
	_, ok := c.conv.entry(&v, root{})
	return ok
}

func (c *entriesEncoder) takesViews() bool { return true }

func (c *entriesEncoder) add(b *batch, f finished, traces traceNotes) outcome {
	if f.view != nil {
		return c.addView(b, f.view, f.root, traces)
	}
	v := viewOf(f.span, f.context, f.parent)
	return c.addView(b, &v, f.root, traces)
}

func (c *entriesEncoder) addSpan(b *batch, s sdktrace.ReadOnlySpan, traces traceNotes) outcome {
	v := viewOf(s, s.SpanContext(), s.Parent())
	return c.addView(b, &v, root{}, traces)
}

// addView adds the span or operation of which v is the view.
func (c *entriesEncoder) addView(b *batch, v *spanView, r root, traces traceNotes) outcome {
	key := attrcache.Key{Attrs: v.attrs, Varying: attrcache.NoVarying, Name: v.name, Scope: v.scope, Resource: v.resource, Rooted: r != root{}}
	if c.conv.mapping == nil {
		key.Varying = attrcache.FindVarying(v.attrs)
	}
	line, worthAdding := c.memo.Lookup(&key)
	p, plain := c.filler.plain(v, key.Varying, &r)
	if line != nil && plain {
		traces.add(v.traceID())
		c.from(b, v.resource)
		b.records = c.filler.fill(b.records, line, v, &p)
		b.entries++
		return asEntry
	}
	e, ok := c.conv.entry(v, r)
	if !ok {
		return c.addAncestor(b, v, traces)
	}
	traces.add(e.TraceID)
	c.from(b, v.resource)
	start := len(b.records)
	b.records = append(e.AppendJSON(b.records), '\n')
	b.entries++
	if bytes, ok := c.conv.keptBytes(); worthAdding && plain && ok {
		if line, ok := c.filler.cut(b.records[start:], v, &p); ok {
			c.memo.Add(&key, line, len(b.records)-start+bytes)
		}
	}
	return asEntry
}

func (c *entriesEncoder) addAncestor(b *batch, v *spanView, traces traceNotes) outcome {
	if !traces.has(v.traceID()) {
		return asNothing
	}
	c.from(b, v.resource)
	b.records = append(c.conv.ancestor(v).AppendJSON(b.records), '\n')
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
