package otlp

import (
	"math"
	"strings"

	"github.com/optrace/optrace/internal/intern"
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

	resource op.Resource
	scope    string

	fields spanFields
	span   op.Span
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
	d.builder.Reset()
}

// end returns the record of the span whose attributes the builder and whose
// other fields d.fields has.
func (d *decoder) end() op.Record {
	f, b := &d.fields, d.builder
	start, duration, ok := times(f.start, f.end)
	if f.invalidTimes {
		ok = false
	}
	b.SetName(f.name)
	b.SetIDs(f.trace, f.id, f.parent)
	b.SetTime(start, duration)
	if !ok {
		b.Warn(op.WarnBadTime)
	}
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

// times returns start and duration of a span. They are not ok where one of
// them is zero or does not fit; a duration that is not known is 0.
func times(start, end uint64) (s op.Int, duration int64, ok bool) {
	startOK := start != 0 && start <= math.MaxInt64
	endOK := end != 0 && end <= math.MaxInt64
	if startOK {
		s = op.Known(int64(start))
	}
	if startOK && endOK {
		duration = int64(end) - int64(start)
	}
	return s, duration, startOK && endOK
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
