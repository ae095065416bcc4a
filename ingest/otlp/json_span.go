package otlp

import (
	"strconv"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// parseScope reads an instrumentation scope.
func (r *jsonReader) parseScope(l *jsontext.Lexer) {
	r.scope = op.Scope{}
	if l.Null() {
		return
	}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			r.scope.Name = valid(r.parseText(l))
		case "version":
			r.scope.Version = valid(r.parseText(l))
		case "attributes":
			r.scope.Attrs = parseAttrs(r.scope.Attrs, l)
		default:
			l.Skip()
		}
	}
}

// parseSpan reads a span in any spelling.
func (r *jsonReader) parseSpan(l *jsontext.Lexer) {
	r.begin()
	for l.Object(); l.More(); {
		r.parseSpanMember(l, l.Key())
	}
}

// parseSpanMember reads the value of a span's member.
func (r *jsonReader) parseSpanMember(l *jsontext.Lexer, key []byte) {
	f := &r.fields
	switch string(key) {
	case "traceId", "trace_id":
		r.parseTraceID(l)
	case "spanId", "span_id":
		f.id = r.parseSpanID(l)
	case "parentSpanId", "parent_span_id":
		f.parent = r.parseSpanID(l)
	case "traceState", "trace_state":
		f.state = r.parseText(l)
	case "name":
		f.name, f.rawName = r.parseText(l), nil
	case "flags":
		n, _ := integer(l)
		f.flags = uint32(n)
	case "startTimeUnixNano", "start_time_unix_nano":
		f.start = r.parseTime(l)
	case "endTimeUnixNano", "end_time_unix_nano":
		f.end = r.parseTime(l)
	case "attributes":
		if l.Null() {
			return
		}
		for l.Array(); l.More(); {
			r.parseAttribute(l)
		}
	case "droppedAttributesCount", "dropped_attributes_count":
		f.dropped, _ = integer(l)
	case "links":
		if l.Null() {
			return
		}
		for l.Array(); l.More(); {
			r.parseLink(l)
		}
	case "droppedLinksCount", "dropped_links_count":
		f.droppedLinks = parseCount(l)
	case "droppedEventsCount", "dropped_events_count":
		f.droppedEvents = parseCount(l)
	case "kind":
		f.kind = parseKind(l)
	case "events":
		if !r.builder.KeepsAll() {
			l.Skip()
			return
		}
		if l.Null() {
			return
		}
		for l.Array(); l.More(); {
			r.parseEvent(l)
		}
	case "status":
		r.parseStatus(l)
	default:
		l.Skip()
	}
}

// parseKind reads the kind of a span, as a number or name.
func parseKind(l *jsontext.Lexer) int64 {
	if l.Peek() != '"' {
		n, _ := integer(l)
		return n
	}
	text := l.Str()
	for kind, name := range kindNames {
		if string(text) == name {
			return int64(kind)
		}
	}
	n, _ := jsontext.ParseInt(text)
	return n
}

// kindNames are the kinds as OTLP's schema names them.
var kindNames = [...]string{
	"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER",
}

func (r *jsonReader) parseStatus(l *jsontext.Lexer) {
	if l.Null() {
		return
	}
	f := &r.fields
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "code":
			if l.Peek() == '"' {
				switch text := l.Str(); string(text) {
				case "STATUS_CODE_ERROR":
					f.code = statusError
				case "STATUS_CODE_OK":
					f.code = statusOK
				default:
					f.code, _ = jsontext.ParseInt(text)
				}
			} else {
				f.code, _ = integer(l)
			}
			f.failed = f.code == statusError
		case "message":
			f.message = r.parseText(l)
		default:
			l.Skip()
		}
	}
}

// parseTraceID reads the id of the trace; an empty one is none.
func (r *jsonReader) parseTraceID(l *jsontext.Lexer) {
	f := &r.fields
	text := l.Str()
	id, ok := op.ParseTraceID(text)
	f.trace, f.badID = id, f.badID || !ok && len(text) > 0
}

// parseSpanID reads the id of a span; an empty one is none.
func (r *jsonReader) parseSpanID(l *jsontext.Lexer) op.SpanID {
	if l.Null() {
		return op.SpanID{}
	}
	text := l.Str()
	id, ok := op.ParseSpanID(text)
	if !ok && len(text) > 0 {
		r.fields.badID = true
	}
	return id
}

// parseTime reads a time, which is 0 where it is not one.
func (r *jsonReader) parseTime(l *jsontext.Lexer) uint64 {
	n, ok := integer(l)
	if !ok || n < 0 {
		r.fields.invalidTimes = true
		return 0
	}
	return uint64(n)
}

// parseText reads a string; null is "".
func (r *jsonReader) parseText(l *jsontext.Lexer) string {
	if l.Null() {
		return ""
	}
	return r.text(l.Str())
}

// integer reads an integer that may stand in quotes. It is not ok, and the
// lexer goes on, where the value is another one.
func integer(l *jsontext.Lexer) (int64, bool) {
	text, ok := numberText(l)
	if !ok {
		return 0, false
	}
	return jsontext.ParseInt(text)
}

// numberText reads a number that may stand in quotes and returns its text.
func numberText(l *jsontext.Lexer) ([]byte, bool) {
	switch c := l.Peek(); {
	case c == '"':
		return l.Str(), true
	case c == '-' || '0' <= c && c <= '9':
		return l.Number(), true
	}
	l.Skip()
	return nil, false
}

// double reads a number, or one of the texts that stand for what JSON has no
// number for.
func double(l *jsontext.Lexer) (float64, bool) {
	text, ok := numberText(l)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// parseAttribute feeds one attribute of a span to the builder.
func (r *jsonReader) parseAttribute(l *jsontext.Lexer) {
	t := r.builder.Target("")
	var early []byte // a value in front of its key
	hasKey, hasValue := false, false
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "key":
			t, hasKey = r.builder.Target(r.text(l.Str())), true
		case "value":
			if !hasKey {
				early = l.Raw()
				continue
			}
			hasValue = true
			r.parseValue(l, t)
		default:
			l.Skip()
		}
	}
	if l.Err() != nil || hasValue {
		return
	}
	if early == nil {
		early = []byte("{}")
	}
	r.value.Reset(early)
	r.parseValue(&r.value, t)
}

// parseValue feeds an attribute's value to the builder.
func (r *jsonReader) parseValue(l *jsontext.Lexer, t attrmap.Target) {
	b := r.builder
	if !t.Wanted() {
		l.Skip()
		b.SetOther(t)
		return
	}
	if l.Null() {
		b.SetEmpty(t)
		return
	}
	empty := true
	for l.Object(); l.More(); {
		if r.parseVariant(l, l.Key(), t) {
			empty = false
		}
	}
	if empty { // or of a type that a later version added
		b.SetEmpty(t)
	}
}

// parseVariant feeds a value of the type name to the builder. It passes over
// what is none of the types.
func (r *jsonReader) parseVariant(l *jsontext.Lexer, name []byte, t attrmap.Target) bool {
	b := r.builder
	switch string(name) {
	case "stringValue", "string_value":
		b.SetStr(t, r.parseText(l))
	case "intValue", "int_value":
		if n, ok := integer(l); ok {
			b.SetInt(t, n)
		} else {
			b.SetOther(t)
		}
	case "doubleValue", "double_value":
		if f, ok := double(l); ok {
			b.Float(t.Key(), f)
		} else {
			b.SetOther(t)
		}
	case "boolValue", "bool_value":
		b.Bool(t.Key(), l.Bool())
	case "arrayValue", "array_value":
		list := b.SetList(t)
		r.parseArray(l, &list, 0)
		list.End()
	case "bytesValue", "bytes_value":
		if !t.Kept() || l.Peek() != '"' {
			l.Skip()
			b.SetEmpty(t)
			break
		}
		b.SetRaw(t, op.AttrBytes, l.Str())
	case "kvlistValue", "kvlist_value":
		if !t.Kept() {
			l.Skip()
			b.SetOther(t)
			break
		}
		r.json, _ = appendVariant(r.json[:0], l, name, 0)
		b.SetRaw(t, op.AttrJSON, r.json)
	default:
		l.Skip()
		return false
	}
	return true
}

// parseArray feeds the elements of an array to a list.
func (r *jsonReader) parseArray(l *jsontext.Lexer, list *attrmap.List, depth int) {
	if l.Null() {
		return
	}
	for l.Object(); l.More(); {
		if string(l.Key()) != "values" {
			l.Skip()
			continue
		}
		if l.Null() {
			continue
		}
		for l.Array(); l.More(); {
			r.parseElement(l, list, depth)
		}
	}
}

func (r *jsonReader) parseElement(l *jsontext.Lexer, list *attrmap.List, depth int) {
	empty := true
	for l.Object(); l.More(); {
		if r.parseElementVariant(l, l.Key(), list, depth) {
			empty = false
		}
	}
	if empty {
		list.Null()
	}
}

func (r *jsonReader) parseElementVariant(l *jsontext.Lexer, name []byte, list *attrmap.List, depth int) bool {
	switch string(name) {
	case "stringValue", "string_value":
		list.Str(r.parseText(l))
	case "intValue", "int_value":
		if n, ok := integer(l); ok {
			list.Int(n)
		} else {
			list.Other()
		}
	case "doubleValue", "double_value":
		if f, ok := double(l); ok {
			list.Float(f)
		} else {
			list.Other()
		}
	case "arrayValue", "array_value":
		if depth == maxValueDepth {
			l.Skip()
			list.Other()
		} else {
			list.Begin()
			r.parseArray(l, list, depth+1)
			list.End()
		}
	case "boolValue", "bool_value":
		if c := l.Peek(); c == 't' || c == 'f' {
			list.Bool(l.Bool())
			break
		}
		l.Skip()
		list.Other()
	case "kvlistValue", "kvlist_value", "bytesValue", "bytes_value":
		if !list.Keeps() {
			l.Skip()
			list.Other()
			break
		}
		r.json, _ = appendVariant(r.json[:0], l, name, depth+1)
		list.JSON(r.json)
	default:
		l.Skip()
		return false
	}
	return true
}
