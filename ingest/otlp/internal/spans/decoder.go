// Package spans makes records of OTLP messages in memory, in JSON and in protobuf: of resources, scopes and spans.
// Package otlp finds the messages in files and streams.
//
// Each encoding has two readers of spans. The canonical reader (json_canonical.go, proto_canonical.go) reads the usual
// encoding of known programs in one pass. The other one (span.go, value.go) reads any valid encoding field by field,
// with the same code for both encodings, and reports errors. Tests and fuzz targets compare the two.
//
// Attributes go straight into an [attrmap.Builder], without messages in between.
package spans

import (
	"math"
	"regexp"
	"strings"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// YieldFunc takes a record or an error; false ends the reading.
type YieldFunc func(op.Record, error) bool

// Decoder makes records of spans in any encoding. The next record overwrites the last one.
type Decoder struct {
	builder *attrmap.Builder
	strings intern.Table // of valid UTF-8

	// Resource and Scope apply to the following spans.
	Resource op.Resource
	Scope    op.Scope

	fields spanFields
	other  op.Span // the last span without an operation

	// Yield takes the records. Stopped is set once it returned false.
	Yield   YieldFunc
	Stopped bool

	// Buffers for a list: strings, or lists of integers in a row with the end of each.
	dims  []int64
	ends  []int
	list  []string
	links []op.Link // not yet given to the builder
	json  []byte    // of a value
}

// New returns a decoder; m maps attribute keys to fields, nil by the conventions.
func New(m *attr.Mapping) *Decoder {
	return &Decoder{builder: attrmap.NewBuilder(m)}
}

// Emit yields a record unless d is stopped.
func (d *Decoder) Emit(rec op.Record, err error) {
	if !d.Stopped && !d.Yield(rec, err) {
		d.Stopped = true
	}
}

// EmitSpan yields the record of the last span.
func (d *Decoder) EmitSpan() {
	rec := op.Record{}
	rec.Entry, rec.Span = d.end()
	d.Emit(rec, nil)
}

type spanFields struct {
	trace                       op.TraceID
	id, parent                  op.SpanID
	badID                       bool
	name, state                 string
	rawName                     []byte // replaces name: a part of the input, or nil
	flags                       uint32
	start, end                  uint64 // Unix nanoseconds, 0 where unknown
	dropped                     int64
	kind, code                  int64 // of the status
	droppedLinks, droppedEvents int64
	failed                      bool
	message                     string
	invalidTimes                bool
}

// Bits of a span's flags: the second is set for a parent in another process, the first if the second is known.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

const (
	statusOK    = 1
	statusError = 2
)

func (d *Decoder) begin() {
	d.fields = spanFields{}
	d.builder.Reset()
}

func (d *Decoder) text(b []byte) string {
	if s, ok := d.strings.Valid(b); ok {
		return s
	}
	return string(b)
}

// end returns the entry of the span in the builder and d.fields, or a span if it is no operation.
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

var kinds = [...]string{"unspecified", "", "server", "client", "producer", "consumer"}

func knownTime(ns uint64) op.Int {
	if ns == 0 || ns > math.MaxInt64 {
		return op.Int{}
	}
	return op.Known(int64(ns))
}

// maxBareDuration is the latest end, in nanoseconds, of a span without a start: with a start of 0, the end up to a day
// is a duration.
const maxBareDuration = 24 * 60 * 60 * 1e9

// setTimes gives start and duration to the builder and returns them. An unknown duration is 0.
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

// OfSignal returns the record for a message of another signal.
func OfSignal(signal string) op.Record {
	return op.Record{Skipped: op.Skipped{Reason: op.SkipOtherSignal, N: 1, Signal: signal}}
}

// attribute is a known attribute key with the destination of its values.
type attribute struct {
	// text is the key field in protobuf, and the text before the value in JSON.
	text   string
	kind   valueKind // of the value, in JSON
	target attrmap.Target
	wanted bool // the value matters
	// next is the attribute that last followed this one, other an earlier one.
	next, other *attribute
}

type valueKind uint8

const (
	kindString valueKind = iota
	kindInt
	kindList
)

// attributeTable holds the attribute keys so far. Programs write attributes in few orders: the table first tries the
// attributes that followed the previous one and rarely needs a lookup.
type attributeTable struct {
	byText map[string]*attribute
	first  attribute
	before *attribute
}

// The bounds of a table. Keys are few and short, unless a program writes values into them.
const (
	maxAttributes    = 1 << 12
	maxAttributeText = 1 << 9
)

func (t *attributeTable) start() { t.before = &t.first }

func (t *attributeTable) find(text []byte) *attribute { return t.byText[string(text)] }

// add adds an attribute. Its text must not exceed maxAttributeText.
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

// expect notes that next followed a unexpectedly.
func (a *attribute) expect(next *attribute) { a.next, a.other = next, a.next }

// message reads the fields of a message and of the messages in it. Its encodings are [wire] and [jsonMessage]. It keeps
// the first error; after an error every call returns zero values.
//
//	for outer := m.open(); m.more(outer, linkSchema); {
//		switch m.number() {
//		case protobuf.LinkTraceID:
//			m.id(id[:])
//		…
//		default:
//			m.skip()
//		}
//	}
type message interface {
	// open enters the message in the current field. more needs its result to leave the message.
	open() (outer int)
	// more goes to the next field in the schema and reports whether there is one.
	more(outer int, s schema) bool
	number() int
	failure() error

	// The methods below read the value of the current field. They skip a value of another type; it is not ok. null
	// skips JSON's null.

	null() bool
	skip()
	// element goes to the next element of a list and reports whether there is one.
	element(first bool) bool
	bytes() []byte
	// base64 appends bytes as base64, their form in JSON.
	base64(dst []byte) (text []byte, ok bool)
	// id reads an id. An empty id is ok and zero.
	id(dst []byte) (ok bool)
	integer() (int64, bool)
	double() (float64, bool)
	boolean() (v, ok bool)
	// count and flags read a number of 32 bits.
	count() int64
	flags() uint32
	// time reads nanoseconds; 0 if not ok.
	time() (ns uint64, ok bool)
	// enum reads a number or its name.
	enum(names []string) int64
	// key returns the key of an attribute whose value is the current field and precedes the key.
	key() []byte
}

// schema maps the JSON names of a message's fields to their numbers.
type schema map[string]int

var (
	spanSchema = newSchema([]string{
		protobuf.SpanTraceID: "traceId", protobuf.SpanID: "spanId", protobuf.SpanTraceState: "traceState",
		protobuf.SpanParentID: "parentSpanId",
		protobuf.SpanName:     "name", protobuf.SpanKind: "kind", protobuf.SpanStart: "startTimeUnixNano",
		protobuf.SpanEnd:        "endTimeUnixNano",
		protobuf.SpanAttributes: "attributes", protobuf.SpanDroppedAttributes: "droppedAttributesCount",
		protobuf.SpanEvents:        "events",
		protobuf.SpanDroppedEvents: "droppedEventsCount", protobuf.SpanLinks: "links",
		protobuf.SpanDroppedLinks: "droppedLinksCount",
		protobuf.SpanStatus:       "status", protobuf.SpanFlags: "flags",
	})
	linkSchema = newSchema([]string{
		protobuf.LinkTraceID: "traceId", protobuf.LinkSpanID: "spanId", protobuf.LinkTraceState: "traceState",
		protobuf.LinkAttributes:        "attributes",
		protobuf.LinkDroppedAttributes: "droppedAttributesCount", protobuf.LinkFlags: "flags",
	})
	eventSchema = newSchema([]string{
		protobuf.EventTime: "timeUnixNano", protobuf.EventName: "name", protobuf.EventAttributes: "attributes",
		protobuf.EventDroppedAttributes: "droppedAttributesCount",
	})
	statusSchema = newSchema([]string{protobuf.StatusMessage: "message", protobuf.StatusCode: "code"})
	scopeSchema  = newSchema([]string{protobuf.ScopeName: "name", protobuf.ScopeVersion: "version",
		protobuf.ScopeAttributes: "attributes"})
	resourceSchema = newSchema([]string{protobuf.ResourceAttributes: "attributes"})
	attrSchema     = newSchema([]string{protobuf.KeyValueKey: "key", protobuf.KeyValueValue: "value"})
	valuesSchema   = newSchema([]string{protobuf.ListValues: "values"})
	valueSchema    = newSchema([]string{
		protobuf.AnyString: "stringValue", protobuf.AnyBool: "boolValue", protobuf.AnyInt: "intValue",
		protobuf.AnyDouble: "doubleValue", protobuf.AnyArray: "arrayValue",
		protobuf.AnyMap: "kvlistValue", protobuf.AnyBytes: "bytesValue",
	})
)

// newSchema returns a schema from names in lower camel case by number. JSON may have snake case instead.
func newSchema(names []string) schema {
	s := schema{}
	for number, name := range names {
		s[name] = number
		s[strings.ToLower(upper.ReplaceAllString(name, "_$0"))] = number
	}
	return s
}

var upper = regexp.MustCompile("[A-Z]")
