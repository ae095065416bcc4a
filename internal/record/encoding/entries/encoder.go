// Package entries writes entries as JSON Lines of the schema optrace.entries/v1: entries, ancestry records, headers,
// batch records and gap records.
package entries

import (
	"bytes"
	"cmp"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

type encoder struct {
	conv     *convert.Converter
	mapping  *attr.Mapping
	cache    attrcache.Cache[template]
	renderer renderer
	recordAt int // start of the last record
}

// CacheHits returns the number of recent lookups that found an entry in the cache.
func (c *encoder) CacheHits() int { return c.cache.Hits() }

// Add adds e. It shortens a record too large to be read.
func (c *encoder) Add(b *encoding.Batch, e span.Ended, t *traces.WithOps) encoding.Outcome {
	d := e.Data
	if d == nil {
		read := span.Read(e.Span, e.Context, e.Parent)
		read.Resource = cmp.Or(e.Resource, read.Resource)
		d = &read
	}
	before := len(b.Records)
	out := c.add(b, d, &e, t)
	if len(b.Records)-before <= encoding.MaxRecordBytes {
		return out
	}
	b.Records = b.Records[:c.recordAt]
	if out == encoding.Entry {
		b.Entries--
	}
	b.Shortened++
	bounded := d.Bounded()
	e.Root.Name = span.CutText(e.Root.Name)
	return c.add(b, &bounded, &e, t)
}

func (c *encoder) add(b *encoding.Batch, d *span.Data, e *span.Ended, t *traces.WithOps) encoding.Outcome {
	key := attrcache.Key{
		Attrs: d.Attrs, Varying: attrcache.NoVarying,
		Name: d.Name, Scope: d.Scope.Name, Resource: d.Resource, Rooted: e.Root != span.Root{},
	}
	if c.mapping == nil {
		key.Varying = attrcache.FindVarying(d.Attrs)
	}
	cached, worthAdding := c.cache.Lookup(&key)
	f, fits := c.renderer.fields(d, key.Varying, &e.Root)
	if cached != nil && fits {
		if !e.Alone { // a trace of one span needs no entry
			t.Add(d.TraceID())
		}
		c.from(b, d.Resource)
		b.Records = c.renderer.render(b.Records, cached, d, &f)
		b.Entries++
		return encoding.Entry
	}
	entry, ok := c.conv.Entry(d, e.Root)
	if !ok {
		return c.addAncestor(b, d, e, t)
	}
	if !e.Alone {
		t.Add(entry.TraceID)
	}
	encoding.AddLinked(b, t, d)
	c.from(b, d.Resource)
	start := len(b.Records)
	b.Records = append(entry.AppendJSON(b.Records), '\n')
	b.Entries++
	if worthAdding && fits {
		if line, ok := c.renderer.compile(b.Records[start:], d, &f); ok {
			c.cache.Add(&key, line, len(b.Records)-start)
		}
	}
	return encoding.Entry
}

func (c *encoder) addAncestor(b *encoding.Batch, d *span.Data, e *span.Ended, t *traces.WithOps) encoding.Outcome {
	if e.Span != nil {
		d.Events = e.Span.Events() // for its size
	}
	if !encoding.IsAncestor(e, d, t) {
		return encoding.Skipped
	}
	encoding.AddLinked(b, t, d)
	c.from(b, d.Resource)
	b.Records = append(c.conv.Ancestor(d).AppendJSON(b.Records), '\n')
	return encoding.Ancestor
}

// from records the resource of the next record, and writes a header if it differs from the one before.
func (c *encoder) from(b *encoding.Batch, r *resource.Resource) {
	id := r.Equivalent()
	switch {
	case b.FirstResource == nil:
		b.First = id
		b.FirstResource = c.conv.Resource(r)
	case id != b.Last:
		b.Records = append(op.AppendHeader(b.Records, c.conv.Resource(r)), '\n')
	}
	b.Last = id
	c.recordAt = len(b.Records)
}

// Format is JSON Lines of the schema optrace.entries/v1.
var Format encoding.Joiner = format{}

type format struct{}

func (format) Name() string { return "entries" }

// Recognize looks for a line of this format.
func (format) Recognize(head []byte) encoding.Origin {
	return encoding.RecognizeLines(head,
		`{"batch":{"writer":`, `{"schema":"`+op.Schema+`"`, `{"step":`, `{"span":{"name":`, `{"gap":{"dropped":`)
}

func (format) NewEncoder(m *attr.Mapping, cacheBytes int) encoding.Encoder {
	return &encoder{
		conv: convert.New(m, cacheBytes/8), mapping: m, cache: attrcache.New[template](cacheBytes / 8 * 7),
	}
}

func (format) Frame(b *encoding.Batch, f *encoding.Framing) (framed []byte, head int) {
	out := f.Scratch
	if f.Newline {
		out = append(out, '\n')
	}
	record := op.Batch{Writer: f.Writer, Sequence: f.Sequence, Entries: int64(b.Entries)}
	out = append(record.AppendJSON(out), '\n')
	if f.Header {
		out = append(op.AppendHeader(out, b.FirstResource), '\n')
	}
	for i := range f.Gaps {
		out = append(f.Gaps[i].AppendJSON(out), '\n')
	}
	head = len(out)
	framed, f.Scratch = b.Between(out, nil)
	return framed, head
}

// Complete counts the complete lines of entries.
func (format) Complete(_ *encoding.Batch, written []byte) (n int) {
	for line := range bytes.Lines(written) {
		if bytes.HasPrefix(line, []byte(`{"step":`)) && bytes.HasSuffix(line, []byte("\n")) {
			n++
		}
	}
	return n
}

// Join appends a record encoded into another batch.
func (format) Join(b *encoding.Batch, r *encoding.Record) {
	if b.FirstResource == nil {
		b.First = r.Source
		b.FirstResource = r.Resource
	} else if r.Source != b.Last {
		b.Records = append(op.AppendHeader(b.Records, r.Resource), '\n')
	}
	b.Records = append(b.Records, r.Bytes...)
	b.Last = r.Source
	b.Entries += r.Entries
}
