package jaeger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// decoder reads the objects of an answer. The next span overwrites its results.
type decoder struct {
	lex     lexer.Lexer
	value   lexer.Lexer // of the value of a tag
	build   *attrmap.Builder
	strings intern.Table

	fields fields
	refs   []reference
}

type fields struct {
	op.Span           // the kind tells RemoteParent
	process           string
	badID             bool
	duration          op.Int // in nanoseconds
	scope             op.Scope
	kind, description string
}

// span reads one span: its attributes into the builder, its other fields into the result. It returns nil on a lexer
// error.
func (d *decoder) span(text []byte) *fields {
	l := &d.lex
	l.Reset(text)
	d.build.Reset()
	d.fields = fields{}
	f := &d.fields
	var references []byte
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "traceID":
			f.TraceID = d.traceID()
		case "spanID":
			f.SpanID = d.spanID()
		case "parentSpanID": // in old versions
			f.ParentSpanID = d.spanID()
		case "operationName":
			f.Name = d.text()
		case "processID":
			f.process = d.text()
		case "startTime":
			f.Start = d.micros()
		case "duration":
			f.duration = d.micros()
		case "references":
			references = l.Raw()
		case "tags":
			d.tags(f)
		case "logs":
			d.logs()
		default:
			l.Skip()
		}
	}
	l.End()
	if l.Err() != nil {
		return nil
	}
	d.references(references, f)
	return f
}

type reference struct {
	childOf bool
	trace   op.TraceID
	span    op.SpanID
}

// references sets the parent of a span and gives the other references to the builder as links. The parent is the first
// CHILD_OF within the trace, else the first reference within the trace: Jaeger turns CHILD_OF into FOLLOWS_FROM for a
// link to the span's own parent.
func (d *decoder) references(text []byte, f *fields) {
	l := &d.lex
	l.Reset(text)
	if !l.AnyArray() {
		return
	}
	d.refs = d.refs[:0]
	for l.More() {
		if l.AnyObject() {
			d.refs = append(d.refs, d.reference())
		}
	}
	parent := -1
	for i, r := range d.refs {
		inTrace := r.trace == f.TraceID && !r.span.IsZero()
		if inTrace && (parent < 0 || r.childOf && !d.refs[parent].childOf) {
			parent = i
		}
	}
	if parent >= 0 {
		f.ParentSpanID = d.refs[parent].span
	}
	for i, r := range d.refs {
		if i != parent {
			d.build.AddLink(op.Link{TraceID: r.trace, SpanID: r.span})
		}
	}
}

func (d *decoder) reference() (r reference) {
	l := &d.lex
	for l.More() {
		switch string(l.Key()) {
		case "refType":
			r.childOf = string(l.AnyStr()) == "CHILD_OF"
		case "traceID":
			r.trace, _ = parseTraceID(l.AnyStr())
		case "spanID":
			r.span, _ = parseSpanID(l.AnyStr())
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) record(f *fields, process *op.Resource) op.Record {
	b := d.build
	b.SetName(f.Name)
	if opfile.IsPlaceholder(f.TraceID) {
		f.TraceID, f.SpanID, f.ParentSpanID = op.TraceID{}, op.SpanID{}, op.SpanID{}
	} else {
		b.SetIDs(f.TraceID, f.SpanID, f.ParentSpanID)
	}
	if f.Start.V == 0 { // not known, as in OTLP
		f.Start = op.Int{}
	}
	if !f.Start.Known && f.duration.V > 0 {
		b.SetDuration(f.duration.V)
	} else {
		b.SetTime(f.Start, f.duration.V)
	}
	b.Warn(op.WarnMicroseconds)
	if !f.duration.Known {
		b.Warn(op.WarnBadTime)
	}
	if f.badID {
		b.Warn(op.WarnBadID)
	}
	if f.Failed {
		b.SetError(f.description)
	}
	b.SetScopeOf(&f.scope)
	x := b.Extra()
	switch f.kind {
	case "server", "client", "producer", "consumer":
		x.Kind = f.kind
	case "internal":
	default:
		x.Kind = "unspecified" // Jaeger leaves out the tag
	}
	if process != nil {
		b.SetResource(process)
		f.Service = process.Service
	}
	if e, ok := b.Entry(); ok {
		return op.Record{Entry: e}
	}
	f.RemoteParent = f.RemoteParent && !f.ParentSpanID.IsZero()
	f.Duration = max(0, f.duration.V)
	x.Message = f.description
	b.FillSpan(&f.Span)
	return op.Record{Span: &f.Span}
}

func (d *decoder) text() string { return d.valid(d.lex.AnyStr()) }

func (d *decoder) valid(text []byte) string {
	return strings.ToValidUTF8(d.strings.String(text), "\ufffd")
}

func (d *decoder) micros() op.Int {
	ns, ok := lexer.ParseMicros(d.lex.AnyNumber())
	if !ok {
		return op.Int{}
	}
	return op.Known(ns)
}

func (d *decoder) traceID() op.TraceID {
	id, ok := parseTraceID(d.lex.AnyStr())
	d.fields.badID = d.fields.badID || !ok
	return id
}

func (d *decoder) spanID() op.SpanID {
	id, ok := parseSpanID(d.lex.AnyStr())
	d.fields.badID = d.fields.badID || !ok
	return id
}

// Old versions print ids without leading zeros.

func parseTraceID(text []byte) (op.TraceID, bool) {
	if len(text) > 16 {
		return op.ParseTraceID(padded(text, 32))
	}
	return op.ParseTraceID(padded(text, 16))
}

func parseSpanID(text []byte) (op.SpanID, bool) { return op.ParseSpanID(padded(text, 16)) }

func padded(text []byte, digits int) []byte {
	if len(text) == 0 || len(text) >= digits {
		return text
	}
	return append(bytes.Repeat([]byte{'0'}, digits-len(text)), text...)
}

type tag struct {
	key   string
	value []byte // JSON text
	// number, float and binary tell how to read a quoted value.
	number, float, binary bool
}

func (d *decoder) next() (t tag) {
	l := &d.lex
	if !l.AnyObject() {
		return t
	}
	for l.More() {
		switch string(l.Key()) {
		case "key":
			t.key = d.text()
		case "type":
			switch string(l.AnyStr()) {
			case "int64":
				t.number = true
			case "float64":
				t.number = true
				t.float = true
			case "binary":
				t.binary = true
			}
		case "value":
			t.value = l.Raw()
		default:
			l.Skip()
		}
	}
	return t
}

// tags reads the tags of a span: attributes into the builder, other fields into f.
func (d *decoder) tags(f *fields) {
	if !d.lex.AnyArray() {
		return
	}
	for d.lex.More() {
		t := d.next()
		switch t.key {
		case attrkey.JaegerError:
			f.Failed = f.Failed || string(t.value) == "true" || string(t.value) == `"true"`
		case attrkey.JaegerStatus:
			f.Failed = f.Failed || string(t.value) == `"ERROR"`
		case attrkey.JaegerDescription:
			f.description = d.tagText(t)
		case attrkey.JaegerScope, attrkey.JaegerOldScope:
			f.scope.Name = d.tagText(t)
		case attrkey.JaegerVersion:
			f.scope.Version = d.tagText(t)
		case attrkey.JaegerKind:
			f.kind = d.tagText(t)
			f.RemoteParent = f.kind == "server" || f.kind == "consumer"
		case attrkey.JaegerTraceState:
			d.build.SetTraceState(d.tagText(t))
		case attrkey.JaegerDropped:
			if n, ok := d.tagInt(t); ok {
				d.build.SetDropped(n)
			}
		case attrkey.JaegerDroppedLinks:
			if n, ok := d.tagInt(t); ok {
				d.build.DropLinks(n)
			}
		default:
			d.attribute(t)
			continue
		}
		if !d.build.KeepsAll() { // else it stands elsewhere
			d.attribute(t)
		}
	}
}

// attribute gives a tag to the builder. A text of a JSON list becomes a list if the builder wants one.
func (d *decoder) attribute(t tag) {
	b := d.build
	to := d.build.Target(t.key)
	switch {
	case t.key == "" || len(t.value) == 0 || t.value[0] == 'n':
	case t.value[0] == '{', t.value[0] == '[', !to.Wanted():
		b.SetOther(to)
	default:
		a := d.attr(t)
		if a.Type == op.AttrText && strings.HasPrefix(a.Value, "[") && to.WantsList() {
			var list bytes.Buffer
			if json.Compact(&list, []byte(a.Value)) == nil {
				a.Value = list.String()
				a.Type = op.AttrJSON
			}
		}
		b.SetAttr(a)
	}
}

// tagInt returns the integer of a tag. Jaeger quotes integers beyond ±2^53.
func (d *decoder) tagInt(t tag) (int64, bool) { return scalar.ParseInt(d.tagBytes(t)) }

// tagText returns the content of a string, and the JSON text of any other value.
func (d *decoder) tagText(t tag) string { return d.valid(d.tagBytes(t)) }

func (d *decoder) tagBytes(t tag) []byte {
	if len(t.value) == 0 || t.value[0] != '"' {
		return t.value
	}
	d.value.Reset(t.value)
	return d.value.Str()
}

// processes reads the processes of a trace into dst, by id. The lexer has the error, if any.
func (d *decoder) processes(text []byte, dst map[string]*op.Resource) {
	l := &d.lex
	l.Reset(text)
	if l.Peek() == 'n' { // null
		return
	}
	for l.Object(); l.More(); {
		id := d.valid(l.Key())
		dst[id] = d.process()
	}
}

func (d *decoder) process() *op.Resource {
	l := &d.lex
	r := &op.Resource{}
	if !l.AnyObject() {
		return r
	}
	for l.More() {
		switch string(l.Key()) {
		case "serviceName":
			if r.Service = d.text(); r.Service == attrkey.JaegerNoService {
				r.Service = ""
			}
		case "tags":
			for more := l.AnyArray(); more && l.More(); {
				if t := d.next(); t.key != "" {
					opmodel.SetResourceAttr(r, &d.build.Outer, d.attr(t))
				}
			}
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) attr(t tag) op.Attr {
	a := op.Attr{Key: t.key, Value: d.tagText(t)}
	n, isInt := d.tagInt(t)
	isText := len(t.value) > 0 && t.value[0] == '"'
	switch {
	case t.binary:
		a.Type = op.AttrBytes
	case isText && !t.number:
	case isInt && !t.float:
		a.Value = strconv.FormatInt(n, 10)
		a.Type = op.AttrInt
	case a.Value == "true" || a.Value == "false":
		a.Type = op.AttrBool
	default:
		if f, ok := scalar.ParseFloat([]byte(a.Value)); ok {
			return opmodel.FloatAttr(t.key, f)
		}
	}
	return a
}

// logs gives the logs of a span to the builder as events. The field "event" is the name.
func (d *decoder) logs() {
	l := &d.lex
	for more := l.AnyArray(); more && l.More(); {
		if !l.AnyObject() {
			continue
		}
		var e op.Event
		for l.More() {
			switch string(l.Key()) {
			case "timestamp":
				e.Time = d.micros()
			case "fields":
				for more := l.AnyArray(); more && l.More(); {
					switch t := d.next(); {
					case t.key == fieldEvent && e.Name == "":
						e.Name = d.tagText(t)
					case t.key != "":
						e.Attrs = d.build.EventAttr(e.Attrs, d.attr(t))
					}
				}
			default:
				l.Skip()
			}
		}
		d.build.AddEvent(e)
	}
}

const fieldEvent = "event"
