package spans

import (
	"math"
	"strings"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// YieldFunc takes what a reader found; false ends the reading.
type YieldFunc func(op.Record, error) bool

// Decoder makes records of spans, whatever their encoding. A record is overwritten by the next one.
type Decoder struct {
	builder *attrmap.Builder
	strings intern.Table // of valid UTF-8

	// Resource and Scope are those of the spans to come.
	Resource op.Resource
	Scope    op.Scope

	fields spanFields
	other  op.Span // the last one that is no operation

	// Yield takes the records, and Stopped is set once no more are wanted.
	Yield   YieldFunc
	Stopped bool

	// dims, ends and list are buffers for a list: lists of integers one behind the other and the end of each, or
	// strings.
	dims  []int64
	ends  []int
	list  []string
	links []op.Link // that have not been given to the builder
	json  []byte    // of a value
}

// New returns a decoder; m is the table from attribute keys to fields, nil for the conventions.
func New(m *attr.Mapping) *Decoder {
	return &Decoder{builder: attrmap.NewBuilder(m)}
}

// Emit hands a record out, and notes when no more are wanted.
func (d *Decoder) Emit(rec op.Record, err error) {
	if !d.Stopped && !d.Yield(rec, err) {
		d.Stopped = true
	}
}

// EmitSpan hands out the record of the span that was read last.
func (d *Decoder) EmitSpan() {
	rec := op.Record{}
	rec.Entry, rec.Span = d.end()
	d.Emit(rec, nil)
}

// spanFields are the fields of a span that are not its attributes.
type spanFields struct {
	trace                       op.TraceID
	id, parent                  op.SpanID
	badID                       bool
	name, state                 string
	rawName                     []byte // in place of name, in the text that is read; nil for none
	flags                       uint32
	start, end                  uint64 // Unix nanoseconds, 0 where unknown
	dropped                     int64
	kind, code                  int64 // of the status
	droppedLinks, droppedEvents int64
	failed                      bool
	message                     string
	invalidTimes                bool
}

// The bits of a span's flags: the second says whether the parent lies in another process, the first that this is known.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

// The codes of a span's status.
const (
	statusOK    = 1
	statusError = 2
)

// begin starts a span.
func (d *Decoder) begin() {
	d.fields = spanFields{}
	d.builder.Reset()
}

// text returns b as a string.
func (d *Decoder) text(b []byte) string {
	if s, ok := d.strings.Valid(b); ok {
		return s
	}
	return string(b)
}

// end returns the entry of the span in the builder and d.fields, or the span if it is no operation.
func (d *Decoder) end() (*op.Entry, *op.Span) {
	f, b := &d.fields, d.builder
	if opfile.IsPlaceholder(f.trace) {
		f.trace = op.TraceID{}
		f.id = op.SpanID{}
	} else {
		b.SetIDs(f.trace, f.id, f.parent)
	}
	start, duration := d.setTimes()
	if b.NeedsName() {
		if f.rawName != nil {
			f.name = d.text(f.rawName)
		}
		b.SetName(f.name)
	}
	if f.badID {
		b.Warn(op.WarnBadID)
	}
	if f.failed {
		b.SetError(f.message)
	}
	b.SetResource(&d.Resource)
	b.SetScopeOf(&d.Scope)
	if f.state != "" {
		b.SetTraceState(f.state)
	}
	if f.dropped > 0 {
		b.SetDropped(f.dropped)
	}
	b.DropLinks(f.droppedLinks)
	if b.KeepsAll() {
		d.setExtra()
	}
	if e, ok := b.Entry(); ok {
		return e, nil
	}
	d.other = op.Span{
		Name: valid(f.name), TraceID: f.trace, SpanID: f.id, ParentSpanID: f.parent,
		RemoteParent: f.flags&flagHasRemote != 0 && f.flags&flagRemote != 0,
		Start:        start, Duration: max(0, duration), Service: d.Resource.Service, Failed: f.failed,
	}
	b.Extra().Message = valid(f.message)
	b.FillSpan(&d.other)
	return nil, &d.other
}

// setExtra gives the builder what no field of an entry holds.
func (d *Decoder) setExtra() {
	f, x := &d.fields, d.builder.Extra()
	x.Kind, x.Flags, x.TraceState = kinds[0], f.flags, valid(f.state)
	if f.kind >= 0 && f.kind < int64(len(kinds)) {
		x.Kind = kinds[f.kind]
	}
	x.OK = f.code == statusOK
	if !f.failed {
		x.Message = valid(f.message)
	}
	x.DroppedEvents = f.droppedEvents
}

// kinds are the kinds of spans by their number.
var kinds = [...]string{"unspecified", "", "server", "client", "producer", "consumer"}

// knownTime returns a time, which is not known where it is zero or does not fit.
func knownTime(ns uint64) op.Int {
	if ns == 0 || ns > math.MaxInt64 {
		return op.Int{}
	}
	return op.Known(int64(ns))
}

// maxBareDuration is the latest end, in nanoseconds, that together with a start of 0 is a duration whose start is not
// known: a day.
const maxBareDuration = 24 * 60 * 60 * 1e9

// setTimes gives the builder start and duration, and returns them. A time that is zero or does not fit is not known,
// and a duration that is not known is 0.
func (d *Decoder) setTimes() (start op.Int, duration int64) {
	f, b := &d.fields, d.builder
	if f.start == 0 && f.end > 0 && f.end <= maxBareDuration && !f.invalidTimes {
		b.SetDuration(int64(f.end))
		return op.Int{}, int64(f.end)
	}
	start = knownTime(f.start)
	end := knownTime(f.end)
	if start.Known && end.Known {
		duration = end.V - start.V
	}
	b.SetTime(start, duration)
	if !start.Known || !end.Known || f.invalidTimes {
		b.Warn(op.WarnBadTime)
	}
	return start, duration
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// OfSignal returns the record in place of one of another signal.
func OfSignal(signal string) op.Record {
	return op.Record{Skipped: op.Skipped{Reason: op.SkipOtherSignal, N: 1, Signal: signal}}
}

// attribute is an attribute key that spans have had, with the place that its values go to.
type attribute struct {
	// text is the key in protobuf, and in JSON all of the text in front of the value.
	text   string
	kind   valueKind // of the value, in JSON
	target attrmap.Target
	wanted bool // the value matters
	// next is the attribute that followed this one last, and other an earlier one.
	next, other *attribute
}

// valueKind is the type of an attribute's value.
type valueKind uint8

const (
	kindString valueKind = iota
	kindInt
	kindList
)

// attributeTable holds the attributes that spans have had. Programs write the attributes of a span in few orders: the
// attributes that have followed the previous one are tried first, and hardly any has to be looked up.
type attributeTable struct {
	byText map[string]*attribute
	// first stands in front of the first attribute of a span.
	first attribute
	// before is the previous attribute.
	before *attribute
}

// The bounds of a table. Keys are few and short, unless something writes values into them.
const (
	maxAttributes    = 1 << 12
	maxAttributeText = 1 << 9
)

// start begins a span.
func (t *attributeTable) start() { t.before = &t.first }

// find returns the attribute with the text, nil where there has been none.
func (t *attributeTable) find(text []byte) *attribute { return t.byText[string(text)] }

// add remembers an attribute, whose text is at most maxAttributeText long.
func (t *attributeTable) add(a *attribute) *attribute {
	if t.byText == nil || len(t.byText) >= maxAttributes {
		t.byText = make(map[string]*attribute)
		t.first.next = nil
		t.first.other = nil
	}
	a.wanted = a.target.Wanted()
	t.byText[a.text] = a
	return a
}

// expect notes that next, which was not expected first, follows a.
func (a *attribute) expect(next *attribute) { a.next, a.other = next, a.next }
