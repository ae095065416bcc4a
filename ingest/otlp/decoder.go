package otlp

import (
	"bytes"
	"math"
	"strings"

	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/recall"
	"github.com/optrace/optrace/op"
)

// yieldFunc takes what a reader found; false ends the reading.
type yieldFunc func(op.Record, error) bool

// decoder makes records of spans, whatever the encoding they came in. What the
// records point to is overwritten by the next span.
type decoder struct {
	builder *op.Builder
	strings intern.Table
	keys    keyTable
	// templates remembers what attributes came to.
	templates recall.Table[knownAttributes]

	resource op.Resource
	scope    string

	fields spanFields
	span   op.Span

	// recalling tells that the attributes of the span may come from templates,
	// attributed that they have been read, repeated that more of them came.
	recalling, attributed, repeated bool
	// known is what is known of the attributes of the span, nil for nothing.
	known *knownAttributes
}

func newDecoder(m *op.Mapping) *decoder {
	d := &decoder{builder: op.NewBuilder(m)}
	d.keys.builder = d.builder
	return d
}

// spanFields are the fields of a span that are not its attributes.
type spanFields struct {
	trace        op.TraceID
	id, parent   op.SpanID
	badID        bool
	name, state  string
	flags        uint32
	start, end   uint64 // Unix nanoseconds, 0 where unknown
	dropped      int64
	failed       bool
	message      string
	invalidTimes bool
}

// The bits of a span's flags that tell whether its parent lies in another
// process.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

// statusError is the code of a failed span's status.
const statusError = 2

// begin forgets the span before.
func (d *decoder) begin() {
	d.fields = spanFields{}
	d.attributed, d.repeated, d.known = false, false, nil
}

// attributes starts the attributes of the span. It reports whether what they came
// to is found at the start of text, and how long they are then. extent tells how
// long they seem to be.
func (d *decoder) attributes(text []byte, extent func([]byte) int) (size int, found bool) {
	if d.repeated = d.attributed && d.recalling; d.repeated {
		return 0, false
	}
	if !d.attributed && d.recalling {
		if known, n := d.recall(text, extent); known != nil {
			d.builder.SetTemplate(&known.template)
			d.attributed, d.known = true, known
			return n, true
		}
	}
	if !d.attributed {
		d.builder.Reset()
		d.attributed = true
	}
	return 0, false
}

// recall returns what is known of the attributes that text starts with.
func (d *decoder) recall(text []byte, extent func([]byte) int) (known *knownAttributes, size int) {
	known, expected := d.templates.Expected()
	if known != nil && bytes.HasPrefix(text, expected) {
		d.templates.Right()
		return known, len(expected)
	}
	if size = extent(text); size <= 0 {
		return nil, 0
	}
	return d.templates.Find(text[:size]), size
}

// remember keeps what the attributes of the span, whose text is given, came to,
// if they come again. No other attributes have been added to the builder.
func (d *decoder) remember(text []byte) {
	if !d.templates.Wants(text) {
		return
	}
	if t, ok := d.builder.Template(); ok {
		d.known = d.templates.Add(text, knownAttributes{template: t})
	}
}

// end returns the record of the span whose attributes the builder and whose
// other fields d.fields has.
func (d *decoder) end() op.Record {
	f, b := &d.fields, d.builder
	if !d.attributed {
		b.Reset()
	}
	if f.trace.IsPlaceholder() {
		f.trace, f.id = op.TraceID{}, op.SpanID{}
	} else {
		b.SetIDs(f.trace, f.id, f.parent)
	}
	start, duration := d.setTimes()
	b.SetName(f.name)
	if f.badID {
		b.Warn(op.WarnBadID)
	}
	if f.failed {
		b.SetError(f.message)
	}
	b.SetResource(&d.resource)
	b.SetScope(d.scope)
	if f.state != "" {
		b.SetTraceState(f.state)
	}
	if f.dropped > 0 {
		b.SetDropped(f.dropped)
	}
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	d.span = op.Span{
		Name: valid(f.name), TraceID: f.trace, SpanID: f.id, ParentSpanID: f.parent,
		RemoteParent: f.flags&flagHasRemote != 0 && f.flags&flagRemote != 0,
		Start:        start, Duration: max(0, duration), Service: d.resource.Service, Failed: f.failed,
	}
	return op.Record{Span: &d.span}
}

// maxBareDuration is the latest end, in nanoseconds, that together with a
// start of 0 is a duration whose start is not known: a day.
const maxBareDuration = 24 * 60 * 60 * 1e9

// setTimes gives the builder start and duration, and returns them. A time that
// is zero or does not fit is not known, and a duration that is not known is 0.
func (d *decoder) setTimes() (start op.Int, duration int64) {
	f, b := &d.fields, d.builder
	if f.start == 0 && f.end > 0 && f.end <= maxBareDuration && !f.invalidTimes {
		b.SetDuration(int64(f.end))
		return op.Int{}, int64(f.end)
	}
	startOK := f.start != 0 && f.start <= math.MaxInt64
	endOK := f.end != 0 && f.end <= math.MaxInt64
	if startOK {
		start = op.Known(int64(f.start))
	}
	if startOK && endOK {
		duration = int64(f.end) - int64(f.start)
	}
	b.SetTime(start, duration)
	if !startOK || !endOK || f.invalidTimes {
		b.Warn(op.WarnBadTime)
	}
	return start, duration
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// keyTable knows the attribute keys seen: the string for a key's bytes, and
// whether its value matters.
type keyTable struct {
	builder *op.Builder
	keys    map[string]key
}

// key is an attribute key.
type key struct {
	name  string
	wants bool
}

// maxKeys bounds how many keys a table remembers. There are few, unless
// something puts values into them.
const maxKeys = 1 << 12

// lookup returns the key for its bytes.
func (t *keyTable) lookup(b []byte) key {
	if k, ok := t.keys[string(b)]; ok { // does not allocate
		return k
	}
	k := key{name: string(b)}
	k.wants = t.builder.Wants(k.name)
	if t.keys == nil || len(t.keys) >= maxKeys {
		t.keys = make(map[string]key)
	}
	t.keys[k.name] = k
	return k
}
