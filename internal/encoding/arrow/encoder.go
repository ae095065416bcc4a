package arrow

import (
	"unicode/utf8"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/arrowtable"
	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/internal/convert"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op"
)

// encoder appends operations, and the spans above them, as rows.
type encoder struct {
	conv       *convert.Converter
	mapping    *op.Mapping
	cacheBytes int // of the cache, and of the words

	// cache holds templates, of values that are in words.
	cache attrcache.Cache[template]
	words *arrowtable.Vocabulary

	batch   *encoding.Batch // that words serves
	devices attrcache.Strings
	root    string // is valid UTF-8
}

// template is an operation without what spans with the same attributes, name, scope
// and resource have of their own.
type template struct {
	arrowtable.Template
	// These count where they are not varying.
	step   op.Int
	device string
	launch op.Int
}

func newEncoder(m *op.Mapping, cacheBytes int) *encoder {
	e := &encoder{conv: convert.New(m, cacheBytes/8), mapping: m, cacheBytes: cacheBytes / 16 * 7}
	e.forget()
	return e
}

// forget empties the cache and what its templates refer to.
func (c *encoder) forget() {
	c.cache = attrcache.New[template](c.cacheBytes, true)
	c.words = arrowtable.NewVocabulary(c.cacheBytes)
}

// CacheHits returns how many of the recent lookups in the cache found something.
func (c *encoder) CacheHits() int { return c.cache.Hits() }

func (c *encoder) Add(b *encoding.Batch, e span.Ended, t *traces.WithOps) encoding.Outcome {
	if e.Data != nil {
		return c.add(b, e.Data, &e.Root, e.Alone, t)
	}
	d := span.Read(e.Span, e.Context, e.Parent)
	return c.add(b, &d, &e.Root, e.Alone, t)
}

// add adds the operation, or the span, that d is the data of.
func (c *encoder) add(b *encoding.Batch, d *span.Data, r *span.Root, alone bool, t *traces.WithOps) encoding.Outcome {
	key := attrcache.Key{
		Attrs: d.Attrs, Varying: attrcache.NoVarying,
		Name: d.Name, Scope: d.Scope.Name, Resource: d.Resource, Rooted: *r != span.Root{},
	}
	if c.mapping == nil {
		key.Varying = attrcache.FindVarying(d.Attrs)
	}
	cached, worthAdding := c.cache.Lookup(&key)
	var o arrowtable.Operation
	fits := c.operation(&o, d, key.Varying, r)
	if cached != nil && fits {
		if !alone { // nobody asks for a trace of one span
			t.Add(o.TraceID)
		}
		if key.Varying.Step < 0 {
			o.Step = cached.step
		}
		if key.Varying.Device < 0 {
			o.Device = cached.device
		}
		if key.Varying.Launch < 0 {
			o.Launch = cached.launch
		}
		rows := c.begin(b, d.Resource)
		b.Records = rows.AppendOperation(b.Records, c.words, &cached.Template, &o)
		b.Entries++
		return encoding.Entry
	}
	e, ok := c.conv.Entry(d, *r)
	if !ok {
		return c.addAncestor(b, d, t)
	}
	if !alone {
		t.Add(e.TraceID)
	}
	if textBytes(e) > encoding.MaxRecordBytes {
		b.Shortened++
		bounded := d.Bounded()
		e, _ = c.conv.Entry(&bounded, span.Root{Name: span.CutText(r.Name), ID: r.ID})
	}
	encoding.AddLinked(t, d)
	rows := c.begin(b, d.Resource)
	b.Records = rows.AppendEntry(b.Records, e)
	b.Entries++
	if worthAdding && fits && isAll(e, &o, key.Varying) {
		c.learn(&key, e)
	}
	return encoding.Entry
}

func (c *encoder) addAncestor(b *encoding.Batch, d *span.Data, t *traces.WithOps) encoding.Outcome {
	if !t.Has(d.TraceID()) {
		return encoding.Skipped
	}
	encoding.AddLinked(t, d)
	if len(d.Name) > encoding.MaxRecordBytes {
		b.Shortened++
		bounded := d.Bounded()
		d = &bounded
	}
	s := c.conv.Ancestor(d)
	rows := c.begin(b, d.Resource)
	b.Records = rows.AppendSpan(b.Records, s)
	return encoding.Ancestor
}

// learn keeps the template of an operation.
func (c *encoder) learn(k *attrcache.Key, e *op.Entry) {
	if c.words.Full() {
		c.forget()
		c.batch = nil
		return
	}
	known := template{c.words.Learn(e), e.Step, e.DeviceID, e.Launch}
	c.cache.Add(k, known, 0)
}

// operation sets what an operation has of its own. It reports false if d has more
// than that and its template: an error, a sampling threshold, links, dropped
// attributes, or values that entries get a warning for.
func (c *encoder) operation(o *arrowtable.Operation, d *span.Data, varying attrcache.Varying, r *span.Root) bool {
	const (
		first, last = 1e9, 9e9 // seconds, whose nanoseconds fit an int64
		longest     = 1e17     // also when this is added to them
	)
	second, end := d.Start.Unix(), d.End.Unix()
	*o = arrowtable.Operation{
		Start: second*1e9 + int64(d.Start.Nanosecond()), Duration: int64(d.End.Sub(d.Start)),
		TraceID: d.TraceID(), SpanID: d.SpanID(), ParentSpanID: d.ParentID(), Root: r.Name, RootSpanID: r.ID,
	}
	if varying.Step >= 0 {
		o.Step = op.Known(d.Attrs[varying.Step].Value.AsInt64())
	}
	if varying.Launch >= 0 {
		o.Launch = op.Known(d.Attrs[varying.Launch].Value.AsInt64())
	}
	ok := first <= second && second < last && first <= end && end < last && 0 <= o.Duration && o.Duration < longest &&
		!o.TraceID.IsZero() && !o.SpanID.IsZero() && !d.Failed() && d.DroppedAttrs == 0 &&
		len(d.Links) == 0 && d.DroppedLinks == 0 && d.Context.TraceState().Len() == 0
	if ok && varying.Device >= 0 {
		o.Device = d.Attrs[varying.Device].Value.AsString()
		ok = c.isDevice(o.Device)
	}
	if ok && r.Name != c.root {
		if ok = len(r.Name) <= maxRoot && utf8.ValidString(r.Name); ok {
			c.root = r.Name
		}
	}
	return ok
}

// maxRoot is the longest name of a root that is taken as it is, in bytes.
const maxRoot = 4 << 10

// isDevice reports whether a device is text that entries have as it is.
func (c *encoder) isDevice(name string) bool {
	slot := c.devices.Slot(name)
	if slot == nil {
		return false
	}
	if slot.Text != name {
		if !utf8.ValidString(name) {
			return false
		}
		slot.Text = name
	}
	return true
}

// isAll reports whether e is what its template and o say.
func isAll(e *op.Entry, o *arrowtable.Operation, varying attrcache.Varying) bool {
	return e.Start == op.Known(o.Start) && e.Duration == o.Duration && (varying.Launch < 0 || e.Launch == o.Launch) &&
		(varying.Step < 0 || e.Step == o.Step) && (varying.Device < 0 || e.DeviceID == o.Device) &&
		e.TraceID == o.TraceID && e.SpanID == o.SpanID && e.ParentSpanID == o.ParentSpanID &&
		e.Root == o.Root && e.RootSpanID == o.RootSpanID
}

// begin returns what the next row refers to, which comes from a resource.
func (c *encoder) begin(b *encoding.Batch, r *resource.Resource) *arrowtable.Table {
	if b.Columns == nil {
		b.Columns = arrowtable.NewTable()
	}
	rows := b.Columns.(*arrowtable.Table)
	if b != c.batch || b.Empty() {
		c.batch = b
		c.words.Begin()
	}
	id := r.Equivalent()
	switch {
	case b.FirstResource == nil:
		b.First, b.FirstResource = id, c.conv.Resource(r)
	case id != b.Last:
		b.Records = rows.AppendResource(b.Records, c.conv.Resource(r))
	}
	b.Last = id
	return rows
}
