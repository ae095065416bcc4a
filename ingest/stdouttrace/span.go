package stdouttrace

import (
	"math"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// decoder reads spans. What it returns is overwritten by the next span.
type decoder struct {
	lex     jsontext.Lexer
	value   jsontext.Lexer // of the value of an attribute
	open    []byte         // the lists and objects around an element of a list
	floats  bool           // the numbers of a list are floating-point numbers
	opaque  bool           // the element is of a type that says nothing here
	build   *attrmap.Builder
	strings intern.Table

	fields fields
	out    op.Span

	scope        op.Scope
	resource     op.Resource
	resourceText []byte // the text that resource was read from
	newResource  bool   // the span's resource is not that of the span before
}

func newDecoder(m *attr.Mapping) *decoder { return &decoder{build: attrmap.NewBuilder(m)} }

// fields are the fields of a span that are not its attributes.
type fields struct {
	name         string
	trace        op.TraceID
	id, parent   op.SpanID
	badID        bool
	remoteParent bool
	start, end   op.Int
	failed       bool
	description  string
	ok           bool
	kind         int64
	flags        uint32
	isSpan       bool
}

// span reads one span: its attributes into the builder, its resource and its
// other fields. On an error it returns a message and the place in the text.
func (d *decoder) span(text []byte) (offset int, msg string) {
	l, f := &d.lex, &d.fields
	l.Reset(text)
	d.build.Reset()
	*f = fields{}
	d.scope = op.Scope{}
	var resource []byte
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "Name":
			f.name = d.text()
		case "SpanContext":
			f.isSpan = true
			d.spanContext(f)
		case "Parent":
			d.parent(f)
		case "StartTime":
			f.start = d.time()
		case "EndTime":
			f.end = d.time()
		case "SpanKind":
			f.kind, _ = d.integer()
		case "Events":
			d.events()
		case "DroppedEvents":
			d.build.Extra().DroppedEvents, _ = d.integer()
		case "Attributes":
			d.attributes()
		case "DroppedAttributes":
			if n, ok := d.integer(); ok {
				d.build.SetDropped(n)
			}
		case "Links":
			d.links()
		case "DroppedLinks":
			if n, ok := d.integer(); ok {
				d.build.DropLinks(n)
			}
		case "Status":
			d.status(f)
		case "Resource":
			resource = l.Raw()
		case "InstrumentationScope", "InstrumentationLibrary":
			d.readScope()
		default:
			l.Skip()
		}
	}
	l.End()
	switch {
	case l.Err() != nil:
		return l.Offset(), l.Err().Error()
	case !f.isSpan:
		return 0, "object that is no span"
	}
	d.readResource(resource)
	return 0, ""
}

// record returns the span that was read last as a record.
func (d *decoder) record() op.Record {
	b, f := d.build, &d.fields
	duration := int64(0)
	if f.start.Known && f.end.Known {
		duration = f.end.V - f.start.V
	} else {
		b.Warn(op.WarnBadTime)
	}
	b.SetName(f.name)
	b.SetIDs(f.trace, f.id, f.parent)
	b.SetTime(f.start, duration)
	if f.badID {
		b.Warn(op.WarnBadID)
	}
	if f.failed {
		b.SetError(f.description)
	}
	b.SetScopeOf(&d.scope)
	b.SetResource(&d.resource)
	x := b.Extra()
	x.Flags, x.OK = f.flags, f.ok
	if f.kind >= 0 && f.kind < int64(len(kinds)) {
		x.Kind = kinds[f.kind]
	}
	if !f.failed {
		x.Message = f.description
	}
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	d.out = op.Span{
		Name: f.name, TraceID: f.trace, SpanID: f.id, ParentSpanID: f.parent, RemoteParent: f.remoteParent,
		Start: f.start, Duration: max(0, duration), Service: d.resource.Service, Failed: f.failed,
	}
	x.Message = f.description
	b.FillSpan(&d.out)
	return op.Record{Span: &d.out}
}

// kinds are the kinds of spans by their number.
var kinds = [...]string{"unspecified", "", "server", "client", "producer", "consumer"}

// spanContext reads the ids of the span.
func (d *decoder) spanContext(f *fields) {
	d.members(func(key []byte) bool {
		switch string(key) {
		case "TraceID":
			id, ok := op.ParseTraceID(d.lex.AnyStr())
			f.trace, f.badID = id, f.badID || !ok
		case "SpanID":
			id, ok := op.ParseSpanID(d.lex.AnyStr())
			f.id, f.badID = id, f.badID || !ok
		case "TraceFlags":
			f.flags |= d.flags()
		case "TraceState":
			if state := d.text(); state != "" {
				d.build.SetTraceState(state)
			}
		default:
			return false
		}
		return true
	})
}

// parent reads the ids of the parent, which are zero where there is none.
func (d *decoder) parent(f *fields) {
	d.members(func(key []byte) bool {
		switch string(key) {
		case "SpanID":
			id, ok := op.ParseSpanID(d.lex.AnyStr())
			f.parent, f.badID = id, f.badID || !ok
		case "Remote":
			if d.lex.Peek() != 't' {
				return false
			}
			f.remoteParent = d.lex.Bool()
			f.flags |= flagRemote
		default:
			return false
		}
		return true
	})
}

func (d *decoder) status(f *fields) {
	d.members(func(key []byte) bool {
		switch string(key) {
		case "Code":
			code := string(d.lex.AnyStr())
			f.failed, f.ok = code == "Error", code == "Ok"
		case "Description":
			f.description = d.text()
		default:
			return false
		}
		return true
	})
}

// readScope reads the instrumentation scope, which old versions call a library and
// new ones print under both names.
func (d *decoder) readScope() {
	var s op.Scope
	d.members(func(key []byte) bool {
		switch string(key) {
		case "Name":
			s.Name = d.text()
		case "Version":
			s.Version = d.text()
		case "Attributes":
			s.Attrs = d.attrs()
		default:
			return false
		}
		return true
	})
	if s.Name != "" {
		d.scope = s
	}
}

// members calls take for each member of an object; take reads the value or
// returns false. Values other than objects are passed over.
func (d *decoder) members(take func(key []byte) bool) {
	l := &d.lex
	for more := l.AnyObject(); more && l.More(); {
		if !take(l.Key()) {
			l.Skip()
		}
	}
}

// text reads a string, as valid UTF-8; of any other value it takes nothing.
func (d *decoder) text() string { return d.valid(d.lex.AnyStr()) }

func (d *decoder) valid(text []byte) string {
	return strings.ToValidUTF8(d.strings.String(text), "\ufffd")
}

func (d *decoder) integer() (int64, bool) {
	if c := d.lex.Peek(); c != '-' && (c < '0' || c > '9') {
		d.lex.Skip()
		return 0, false
	}
	return jsontext.ParseInt(d.lex.Number())
}

// time reads a time. The zero time, which the exporter prints where it was
// configured to leave out timestamps, is unknown, and so is one that does not fit.
func (d *decoder) time() op.Int {
	var t time.Time
	if t.UnmarshalText(d.lex.AnyStr()) != nil || t.IsZero() {
		return op.Int{}
	}
	const maxSeconds = math.MaxInt64/1_000_000_000 - 1
	if s := t.Unix(); s > maxSeconds || s < -maxSeconds {
		return op.Int{}
	}
	return op.Known(t.UnixNano())
}
