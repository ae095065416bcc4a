package otlp

import (
	"encoding/base64"
	"math"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
)

// The field numbers of the messages, from opentelemetry/proto/trace/v1 and
// common/v1.
const (
	fieldTracesResourceSpans = 1
	fieldProfilesDictionary  = 2 // of ProfilesData, which is like TracesData otherwise

	fieldGroupHeader = 1 // the resource of ResourceSpans, the scope of ScopeSpans
	fieldGroupList   = 2 // the scope_spans of ResourceSpans, the spans of ScopeSpans

	fieldResourceAttributes = 1
	fieldScopeName          = 1
	fieldScopeVersion       = 2
	fieldScopeAttributes    = 3

	fieldSpanTraceID    = 1
	fieldSpanID         = 2
	fieldSpanTraceState = 3
	fieldSpanParentID   = 4
	fieldSpanName       = 5
	fieldSpanKind       = 6
	fieldSpanStart      = 7
	fieldSpanEnd        = 8
	fieldSpanAttributes = 9
	fieldSpanDropped    = 10
	fieldSpanEvents     = 11
	fieldSpanLinks      = 13
	fieldDroppedEvents  = 12
	fieldDroppedLinks   = 14
	fieldSpanStatus     = 15
	fieldSpanFlags      = 16

	fieldLinkTraceID    = 1
	fieldLinkSpanID     = 2
	fieldLinkState      = 3
	fieldLinkAttributes = 4
	fieldLinkDropped    = 5
	fieldLinkFlags      = 6

	fieldEventTime       = 1
	fieldEventName       = 2
	fieldEventAttributes = 3
	fieldEventDropped    = 4

	fieldStatusMessage = 2
	fieldStatusCode    = 3

	fieldKey   = 1
	fieldValue = 2

	fieldString = 1
	fieldBool   = 2
	fieldInt    = 3
	fieldDouble = 4
	fieldArray  = 5
	fieldMap    = 6
	fieldBytes  = 7

	fieldValues = 1 // of arrays and maps
)

// parseScope reads an InstrumentationScope.
func (r *protoReader) parseScope(w wire) error {
	r.scope = op.Scope{}
	for w.next() {
		switch w.field {
		case fieldScopeName:
			r.scope.Name = valid(r.text(w.bytes()))
		case fieldScopeVersion:
			r.scope.Version = valid(r.text(w.bytes()))
		case fieldScopeAttributes:
			r.scope.Attrs = append(r.scope.Attrs, w.attr())
		default:
			w.skip()
		}
	}
	return w.err
}

// parseSpan reads a span of any encoding.
func (r *protoReader) parseSpan(w wire) error {
	r.begin()
	f := &r.fields
	for w.next() {
		switch w.field {
		case fieldSpanTraceID:
			f.setTrace(w.bytes())
		case fieldSpanID:
			f.setID(&f.id, w.bytes())
		case fieldSpanParentID:
			f.setID(&f.parent, w.bytes())
		case fieldSpanTraceState:
			f.state = r.text(w.bytes())
		case fieldSpanName:
			f.name = r.text(w.bytes())
		case fieldSpanStart:
			f.start = w.fixed64()
		case fieldSpanEnd:
			f.end = w.fixed64()
		case fieldSpanAttributes:
			m := w.message()
			r.parseAttribute(&m)
			w.join(&m)
		case fieldSpanDropped:
			f.dropped = int64(uint32(w.uint()))
		case fieldSpanLinks:
			m := w.message()
			r.parseLink(&m)
			w.join(&m)
		case fieldDroppedLinks:
			f.droppedLinks = int64(uint32(w.uint()))
		case fieldDroppedEvents:
			f.droppedEvents = int64(uint32(w.uint()))
		case fieldSpanKind:
			f.kind = int64(w.uint())
		case fieldSpanEvents:
			m := w.message()
			if r.builder.KeepsAll() {
				r.parseEvent(&m)
			}
			w.join(&m)
		case fieldSpanStatus:
			m := w.message()
			r.parseStatus(&m)
			w.join(&m)
		case fieldSpanFlags:
			f.flags = w.fixed32()
		default:
			w.skip()
		}
	}
	return w.err
}

func (r *protoReader) parseStatus(w *wire) {
	for w.next() {
		switch w.field {
		case fieldStatusMessage:
			r.fields.message = r.text(w.bytes())
		case fieldStatusCode:
			r.fields.code = int64(w.uint())
			r.fields.failed = r.fields.code == statusError
		default:
			w.skip()
		}
	}
}

// parseAttribute feeds one attribute of a span to the builder.
func (r *protoReader) parseAttribute(w *wire) {
	var key []byte
	var value wire
	for w.next() {
		switch w.field {
		case fieldKey:
			key = w.bytes()
		case fieldValue:
			value = w.message()
		default:
			w.skip()
		}
	}
	if w.err != nil {
		return
	}
	r.parseValue(&value, r.builder.Target(r.text(key)))
	w.join(&value)
}

// parseValue feeds an attribute's value to the builder.
func (r *protoReader) parseValue(w *wire, t attrmap.Target) {
	if !t.Wanted() {
		r.builder.SetOther(t)
		return
	}
	empty := true
	for w.next() {
		if r.parseVariant(w, t) {
			empty = false
		}
	}
	if empty { // or of a type that a later version added
		r.builder.SetEmpty(t)
	}
}

// parseVariant feeds a value of the current field's type to the builder. It
// passes over what is none of the types.
func (r *protoReader) parseVariant(w *wire, t attrmap.Target) bool {
	b := r.builder
	switch w.field {
	case fieldString:
		b.SetStr(t, r.text(w.bytes()))
	case fieldBool:
		b.Bool(t.Key(), w.uint() != 0)
	case fieldInt:
		b.SetInt(t, int64(w.uint()))
	case fieldDouble:
		b.Float(t.Key(), math.Float64frombits(w.fixed64()))
	case fieldArray:
		m := w.message()
		list := b.SetList(t)
		r.parseArray(&m, &list, 0)
		list.End()
		w.join(&m)
	case fieldMap, fieldBytes:
		if !t.Kept() {
			w.bytes()
			b.SetOther(t)
			break
		}
		if w.field == fieldBytes {
			r.json = base64.StdEncoding.AppendEncode(r.json[:0], w.bytes())
			b.SetRaw(t, op.AttrBytes, r.json)
			break
		}
		r.json, _ = w.appendVariant(r.json[:0], 0)
		b.SetRaw(t, op.AttrJSON, r.json)
	default:
		w.skip()
		return false
	}
	return true
}

// parseArray feeds the elements of an array to a list.
func (r *protoReader) parseArray(w *wire, list *attrmap.List, depth int) {
	for w.next() {
		if w.field != fieldValues {
			w.skip()
			continue
		}
		m := w.message()
		r.parseElement(&m, list, depth)
		w.join(&m)
	}
}

func (r *protoReader) parseElement(w *wire, list *attrmap.List, depth int) {
	empty := true
	for w.next() {
		if r.parseElementVariant(w, list, depth) {
			empty = false
		}
	}
	if empty {
		list.Null()
	}
}

func (r *protoReader) parseElementVariant(w *wire, list *attrmap.List, depth int) bool {
	switch w.field {
	case fieldString:
		list.Str(r.text(w.bytes()))
	case fieldInt:
		list.Int(int64(w.uint()))
	case fieldDouble:
		list.Float(math.Float64frombits(w.fixed64()))
	case fieldArray:
		m := w.message()
		if depth == maxValueDepth {
			list.Other()
			return true
		}
		list.Begin()
		r.parseArray(&m, list, depth+1)
		list.End()
		w.join(&m)
	case fieldBool:
		list.Bool(w.uint() != 0)
	case fieldMap, fieldBytes:
		if !list.Keeps() {
			w.skip()
			list.Other()
			break
		}
		r.json, _ = w.appendVariant(r.json[:0], depth+1)
		list.JSON(r.json)
	default:
		w.skip()
		return false
	}
	return true
}

func (f *spanFields) setID(id *op.SpanID, b []byte) {
	*id = op.SpanID{}
	if len(b) == len(id) {
		copy(id[:], b)
	} else if len(b) > 0 {
		f.badID = true
	}
}

func (f *spanFields) setTrace(b []byte) {
	f.trace = op.TraceID{}
	if len(b) == len(f.trace) {
		copy(f.trace[:], b)
	} else if len(b) > 0 {
		f.badID = true
	}
}
