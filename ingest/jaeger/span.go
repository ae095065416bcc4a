package jaeger

import (
	"bytes"
	"strings"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
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
	op.Span     // the kind tells RemoteParent
	process     string
	badID       bool
	duration    op.Int // in nanoseconds
	scope       op.Scope
	kind        string
	description string
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
