package stdouttrace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

type decoder struct {
	lex   lexer.Lexer
	list  lexer.Lexer // of attributes
	value lexer.Lexer // of an attribute's value
	build *attrmap.Builder

	strings intern.Table

	fields fields
	out    op.Span

	resource     op.Resource
	resourceText []byte // the text of resource
	newResource  bool   // the resource changed with this span
}

type fields struct {
	name            string
	context, parent spanContext
	isSpan          bool
	start, end      timestamp
	status          struct {
		Code, Description string
		PythonCode        string `json:"status_code"`
	}
	kind   int64
	scope  op.Scope
	python bool
}

// spanContext is a printed context, zero for a missing parent.
type spanContext struct {
	TraceID, SpanID, TraceFlags, TraceState string
	Remote                                  bool
}

// Bits of OTLP's flags: the second is set for a context of another process, the first if the second is known.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

// flags returns the W3C flags, printed as two hexadecimal digits.
func (c *spanContext) flags() uint32 {
	n, err := strconv.ParseUint(c.TraceFlags, 16, 8)
	if err != nil {
		return 0
	}
	return uint32(n) | flagHasRemote
}

// link is a printed link or, without a context, a printed event.
type link struct {
	SpanContext           spanContext
	Context               pythonContext
	Name                  string
	Time, Timestamp       timestamp
	Attributes            json.RawMessage
	DroppedAttributeCount int64
}

// span reads one span: attributes into the builder, resource and other fields into d. For an error it returns a message
// and its offset in the text.
func (d *decoder) span(text []byte) (offset int, msg string) {
	l := &d.lex
	f := &d.fields
	b := d.build
	l.Reset(text)
	b.Reset()
	*f = fields{}
	var resource []byte
	f.python = !bytes.Contains(text, []byte(`"SpanContext"`))
	for l.Object(); l.More(); {
		key := string(l.Key())
		if f.python {
			key = pythonKeys[key]
		}
		switch key {
		case "Name":
			f.name = d.text(l.AnyStr())
		case "SpanContext":
			f.isSpan = true
			d.read(&f.context)
		case "context":
			var c pythonContext
			d.read(&c)
			f.context = c.context()
			f.isSpan = f.context.TraceID != ""
		case "Parent":
			d.read(&f.parent)
		case "parent_id":
			f.parent.SpanID = pythonID(string(l.AnyStr()))
		case "StartTime":
			_ = f.start.UnmarshalText(l.AnyStr()) // does not fail
		case "EndTime":
			_ = f.end.UnmarshalText(l.AnyStr())
		case "SpanKind":
			d.read(&f.kind)
		case "kind":
			// No kind is internal.
			f.kind = int64(slices.Index(kinds[:], strings.ToLower(strings.TrimPrefix(string(l.AnyStr()), "SpanKind."))))
		case "Events":
			d.events(l.Raw())
		case "DroppedEvents":
			d.read(&b.Extra().DroppedEvents)
		case "Attributes":
			for a := range d.attributes(l.Raw()) {
				d.add(a)
			}
		case "DroppedAttributes":
			b.SetDropped(d.count())
		case "Links":
			for k := range links(l.Raw()) {
				d.link(k)
			}
		case "DroppedLinks":
			b.DropLinks(d.count())
		case "Status":
			d.read(&f.status)
		case "Resource":
			resource = l.Raw()
		case "InstrumentationScope", "InstrumentationLibrary":
			d.scope()
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

// read reads the next value. Parts of another type leave to unchanged.
func (d *decoder) read(to any) {
	if text := d.lex.Raw(); text != nil {
		_ = json.Unmarshal(text, to)
	}
}

func (d *decoder) count() (n int64) {
	d.read(&n)
	return n
}

// links yields the links or events of a list one at a time, to save memory.
func links(list []byte) iter.Seq[link] {
	return func(yield func(link) bool) {
		var l lexer.Lexer
		l.Reset(list)
		for more := l.AnyArray(); more && l.More(); {
			var k link
			_ = json.Unmarshal(l.Raw(), &k) // ignores values of another type
			if l.Err() != nil || !yield(k) {
				return
			}
		}
	}
}

// attributes yields the attributes of a list, each valid until the next one. It avoids reflection: attributes are
// frequent.
func (d *decoder) attributes(list []byte) iter.Seq[*attribute] {
	return func(yield func(*attribute) bool) {
		var a attribute
		l := &d.list
		l.Reset(list)
		if l.Peek() == '{' { // of Python
			for l.Object(); l.More() && yield(d.pythonAttribute(l, &a)); {
			}
			return
		}
		for more := l.AnyArray(); more && l.More(); {
			a = attribute{}
			for more := l.AnyObject(); more && l.More(); {
				switch string(l.Key()) {
				case "Key":
					a.Key = d.text(l.AnyStr())
				case "Value":
					for more := l.AnyObject(); more && l.More(); {
						switch string(l.Key()) {
						case "Type":
							a.Value.Type = d.text(l.AnyStr())
						case "Value":
							a.Value.Value = l.Raw()
						default:
							l.Skip()
						}
					}
				default:
					l.Skip()
				}
			}
			if !yield(&a) {
				return
			}
		}
	}
}

func (d *decoder) text(b []byte) string { return strings.ToValidUTF8(d.strings.String(b), "\ufffd") }

// record returns the last span as a record.
func (d *decoder) record() op.Record {
	b, f := d.build, &d.fields
	duration := int64(0)
	if f.start.Known && f.end.Known {
		duration = f.end.V - f.start.V
	} else {
		b.Warn(op.WarnBadTime)
	}
	trace, ok1 := op.ParseTraceID([]byte(f.context.TraceID))
	id, ok2 := op.ParseSpanID([]byte(f.context.SpanID))
	parent, ok3 := op.ParseSpanID([]byte(f.parent.SpanID))
	if !ok1 || !ok2 || !ok3 && f.parent.SpanID != "" {
		b.Warn(op.WarnBadID)
	}
	if f.context.TraceState != "" {
		b.SetTraceState(f.context.TraceState)
	}
	b.SetName(f.name)
	b.SetIDs(trace, id, parent)
	b.SetTime(op.Int(f.start), duration)
	if f.python {
		b.Warn(op.WarnMicroseconds)
	}
	failed := f.status.Code == "Error" || f.status.PythonCode == "ERROR"
	if failed {
		b.SetError(f.status.Description)
	}
	b.SetScopeOf(&f.scope)
	b.SetResource(&d.resource)
	x := b.Extra()
	x.Flags, x.OK = f.context.flags(), f.status.Code == "Ok" || f.status.PythonCode == "OK"
	if f.parent.Remote {
		x.Flags |= flagRemote
	}
	if f.kind >= 0 && f.kind < int64(len(kinds)) {
		x.Kind = kinds[f.kind]
	}
	if !failed {
		x.Message = f.status.Description
	}
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	d.out = op.Span{
		Name: f.name, TraceID: trace, SpanID: id, ParentSpanID: parent, RemoteParent: f.parent.Remote,
		Start: op.Int(f.start), Duration: max(0, duration), Service: d.resource.Service, Failed: failed,
	}
	x.Message = f.status.Description
	b.FillSpan(&d.out)
	return op.Record{Span: &d.out}
}

var kinds = [...]string{"unspecified", "", "server", "client", "producer", "consumer"}

func (d *decoder) add(a *attribute) {
	b := d.build
	if a.Key == "" || len(a.Value.Value) == 0 {
		return
	}
	switch t := b.Target(a.Key); {
	case a.Value.Value[0] == 'n':
		if b.KeepsAll() {
			b.SetEmpty(t)
		} // else it is ignored
	case !t.Wanted():
		b.SetOther(t)
	default:
		b.SetAttr(d.attr(a))
	}
}

func (d *decoder) attrs(list []byte) (all []op.Attr) {
	for a := range d.attributes(list) {
		all = d.build.EventAttr(all, d.attr(a))
	}
	return all
}

func (d *decoder) link(k link) {
	var out op.Link
	c := cmp.Or(k.SpanContext, k.Context.context())
	out.TraceID, _ = op.ParseTraceID([]byte(c.TraceID))
	out.SpanID, _ = op.ParseSpanID([]byte(c.SpanID))
	extra := op.LinkExtra{TraceState: c.TraceState, Flags: c.flags(), DroppedAttributes: k.DroppedAttributeCount}
	if c.Remote {
		extra.Flags |= flagRemote
	}
	for _, a := range d.attrs(k.Attributes) {
		d.build.LinkAttr(&out, &extra, a)
	}
	d.build.AddLinkWith(out, &extra)
}

func (d *decoder) events(list []byte) {
	for e := range links(list) {
		if d.build.WantsEvent(e.Name) {
			d.build.AddEvent(op.Event{
				Name: e.Name, Time: op.Int(cmp.Or(e.Time, e.Timestamp)), Attrs: d.attrs(e.Attributes),
				DroppedAttributes: e.DroppedAttributeCount,
			})
		}
	}
}

// scope reads the instrumentation scope. Old versions call it library, new ones print both names.
func (d *decoder) scope() {
	var s struct {
		Name, Version string
		Attributes    json.RawMessage
	}
	if d.fields.scope.Name != "" {
		d.lex.Skip()
		return
	}
	if d.read(&s); s.Name != "" {
		d.fields.scope = op.Scope{Name: s.Name, Version: s.Version, Attrs: d.attrs(s.Attributes)}
	}
}

// readResource reads the attributes of the resource if they changed.
func (d *decoder) readResource(text []byte) {
	d.newResource = !bytes.Equal(text, d.resourceText)
	if !d.newResource {
		return
	}
	d.resourceText = append(d.resourceText[:0], text...)
	d.resource = op.Resource{}
	d.build.Outer.Held.Reset()
	var python struct{ Attributes json.RawMessage } // its old versions print the attributes alone
	if json.Unmarshal(text, &python) == nil && python.Attributes != nil {
		text = python.Attributes
	}
	for a := range d.attributes(text) {
		if a.Key != "" && len(a.Value.Value) > 0 {
			opmodel.SetResourceAttr(&d.resource, &d.build.Outer, d.attr(a))
		}
	}
}

// timestamp is a time in Unix nanoseconds. The zero time, printed without timestamps, and a time out of range are
// unknown.
type timestamp op.Int

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *timestamp) UnmarshalText(text []byte) error {
	var at time.Time
	const maxSeconds = math.MaxInt64/1_000_000_000 - 1
	if at.UnmarshalText(text) == nil && !at.IsZero() && max(at.Unix(), -at.Unix()) <= maxSeconds {
		*t = timestamp(op.Known(at.UnixNano()))
	}
	return nil
}
