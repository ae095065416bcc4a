package otlp

import (
	"bytes"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// parseResource reads a resource.
func (r *jsonReader) parseResource(l *jsontext.Lexer) {
	var attrs []member
	if l.Null() {
		r.setResource(nil)
		return
	}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "attributes":
			attrs = parseMembers(l, 0)
		default:
			l.Skip()
		}
	}
	r.setResource(attrs)
}

// parseScope reads an instrumentation scope.
func (r *jsonReader) parseScope(l *jsontext.Lexer) {
	r.scope = ""
	if l.Null() {
		return
	}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			r.scope = valid(r.text(l))
		default:
			l.Skip()
		}
	}
}

// The members of a span. Those that say nothing of an operation are known too,
// so that passing over them costs no look-up.
const (
	memberTraceID = iota
	memberSpanID
	memberParent
	memberState
	memberName
	memberFlags
	memberStart
	memberEnd
	memberAttributes
	memberDropped
	memberStatus
	memberKind
	memberEvents
	memberDroppedEvents
	memberLinks
	memberDroppedLinks
)

var spanKeys = jsontext.NewKeys(
	[]string{"traceId", "trace_id"},
	[]string{"spanId", "span_id"},
	[]string{"parentSpanId", "parent_span_id"},
	[]string{"traceState", "trace_state"},
	[]string{"name"},
	[]string{"flags"},
	[]string{"startTimeUnixNano", "start_time_unix_nano"},
	[]string{"endTimeUnixNano", "end_time_unix_nano"},
	[]string{"attributes"},
	[]string{"droppedAttributesCount", "dropped_attributes_count"},
	[]string{"status"},
	[]string{"kind"},
	[]string{"events"},
	[]string{"droppedEventsCount", "dropped_events_count"},
	[]string{"links"},
	[]string{"droppedLinksCount", "dropped_links_count"},
)

// parseSpan reads a span into the builder and the fields.
func (r *jsonReader) parseSpan(l *jsontext.Lexer) {
	l.Peek() // pass over white space
	start := l.Mark()
	r.recalling = r.templates.Awake()
	r.begin()
	if r.recalling && r.recallSpan(l) {
		return
	}
	r.begin()
	r.parseSpanMembers(l)
	switch {
	case r.repeated:
		// A second list of attributes adds to the first.
		l.Rewind(start)
		r.begin()
		r.recalling = false
		r.parseSpanMembers(l)
	case l.Err() == nil && r.recalling:
		r.learnLayout(l, start.Pos())
	}
}

func (r *jsonReader) parseSpanMembers(l *jsontext.Lexer) {
	r.members, r.repeatedMember = r.members[:0], false
	seen := uint32(0)
	l.Object()
	r.order.Start()
	for k, _, more := l.Member(r.order); more && !r.repeated; k, _, more = l.Member(r.order) {
		bit := uint32(1) << k
		r.repeatedMember = r.repeatedMember || seen&bit != 0
		seen |= bit
		value := l.Pos()
		r.readMember(l, k)
		r.members = append(r.members, spanMember{key: k, value: value, end: l.Pos()})
	}
}

// readMember reads the value of a member.
func (r *jsonReader) readMember(l *jsontext.Lexer, key int) {
	f := &r.fields
	switch key {
	case memberTraceID:
		r.traceID(l)
	case memberSpanID:
		f.id = r.spanID(l)
	case memberParent:
		f.parent = r.spanID(l)
	case memberState:
		f.state = r.text(l)
	case memberName:
		f.name = r.text(l)
	case memberFlags:
		n, _ := integer(l)
		f.flags = uint32(n)
	case memberStart:
		f.start = r.nanos(l)
	case memberEnd:
		f.end = r.nanos(l)
	case memberAttributes:
		r.parseAttributes(l)
	case memberDropped:
		f.dropped, _ = integer(l)
	case memberStatus:
		r.parseStatus(l)
	default:
		l.Skip()
	}
}

// parseAttributes feeds a span's attributes to the builder, or what it made of
// the same ones before.
func (r *jsonReader) parseAttributes(l *jsontext.Lexer) {
	if l.Null() {
		return
	}
	size, found := r.attributes(l.Rest(), r.extent)
	if l.Advance(size); found || r.repeated {
		return
	}
	start := l.Mark()
	for l.Array(); l.More(); {
		if !r.usualAttribute(l) {
			r.parseAttribute(l)
		}
	}
	// In JSON Lines a newline ends a text, elsewhere it is white space.
	if text := l.Since(start); l.Err() == nil && r.recalling && bytes.IndexByte(text, '\n') < 0 {
		r.behind = append(r.behind[:0], ']')
		r.behind = append(r.behind, l.Text(l.Pos(), min(l.Pos()+len(`,"status`), l.Size()))...)
		r.remember(text)
	}
}

// attributesExtent returns how long the attributes seem to be that text starts
// with: up to the bracket behind which the same stands as behind the last ones.
func (r *jsonReader) attributesExtent(text []byte) int {
	if len(r.behind) == 0 {
		return 0
	}
	const longest = 4 << 10
	return bytes.Index(text[:min(len(text), longest)], r.behind) + 1
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
				text := l.Str()
				f.failed = string(text) == "STATUS_CODE_ERROR" || string(text) == strconv.Itoa(statusError)
			} else {
				code, _ := integer(l)
				f.failed = code == statusError
			}
		case "message":
			f.message = r.text(l)
		default:
			l.Skip()
		}
	}
}

// traceID reads the trace's id. Spans of one trace mostly follow one another.
func (r *jsonReader) traceID(l *jsontext.Lexer) {
	f := &r.fields
	if r.lastTraceText != "" && l.Accept(r.lastTraceText) {
		f.trace = r.lastTrace
		return
	}
	if l.QuotedHex(f.trace[:]) {
		r.lastTrace, r.lastTraceText = f.trace, `"`+f.trace.String()+`"`
		return
	}
	text := l.Str()
	id, ok := op.ParseTraceID(text)
	f.trace, f.badID = id, f.badID || !ok && len(text) > 0
}

// spanID reads an id; an empty one is none.
func (r *jsonReader) spanID(l *jsontext.Lexer) (id op.SpanID) {
	if l.QuotedHex(id[:]) {
		return id
	}
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

// nanos reads a time, which is 0 where it is not one.
func (r *jsonReader) nanos(l *jsontext.Lexer) uint64 {
	n, ok := l.QuotedNanos()
	if !ok {
		n, ok = integer(l)
	}
	if !ok || n < 0 {
		r.fields.invalidTimes = true
		return 0
	}
	return uint64(n)
}

// text reads a string; null is "".
func (r *jsonReader) text(l *jsontext.Lexer) string {
	if l.Null() {
		return ""
	}
	return r.strings.String(l.Str())
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
	var k key
	var early []byte // a value in front of its key
	hasKey, hasValue := false, false
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "key":
			k, hasKey = r.keys.lookup(l.Str()), true
		case "value":
			if !hasKey {
				early = l.Raw()
				continue
			}
			hasValue = true
			r.parseValue(l, k)
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
	r.parseValue(&r.value, k)
}

// parseValue feeds an attribute's value to the builder.
func (r *jsonReader) parseValue(l *jsontext.Lexer, k key) {
	b := r.builder
	if !k.wants {
		l.Skip()
		b.Other(k.name)
		return
	}
	if l.Null() {
		b.Other(k.name)
		return
	}
	empty := true
	for l.Object(); l.More(); {
		if r.parseVariant(l, l.Key(), k) {
			empty = false
		}
	}
	if empty { // or of a type that a later version added
		b.Other(k.name)
	}
}

// parseVariant feeds a value of the type name to the builder. It passes over
// what is none of the types.
func (r *jsonReader) parseVariant(l *jsontext.Lexer, name []byte, k key) bool {
	b := r.builder
	switch string(name) {
	case "stringValue", "string_value":
		b.Str(k.name, r.text(l))
	case "intValue", "int_value":
		if n, ok := integer(l); ok {
			b.Int(k.name, n)
		} else {
			b.Other(k.name)
		}
	case "doubleValue", "double_value":
		if f, ok := double(l); ok {
			b.Float(k.name, f)
		} else {
			b.Other(k.name)
		}
	case "boolValue", "bool_value":
		b.Bool(k.name, l.Bool())
	case "arrayValue", "array_value":
		list := b.BeginList(k.name)
		r.parseArray(l, &list, 0)
		list.End()
	case "kvlistValue", "kvlist_value", "bytesValue", "bytes_value":
		l.Skip()
		b.Other(k.name)
	default:
		l.Skip()
		return false
	}
	return true
}

// parseArray feeds the elements of an array to a list.
func (r *jsonReader) parseArray(l *jsontext.Lexer, list *op.List, depth int) {
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

func (r *jsonReader) parseElement(l *jsontext.Lexer, list *op.List, depth int) {
	empty := true
	for l.Object(); l.More(); {
		if r.parseElementVariant(l, l.Key(), list, depth) {
			empty = false
		}
	}
	if empty {
		list.Other()
	}
}

func (r *jsonReader) parseElementVariant(l *jsontext.Lexer, name []byte, list *op.List, depth int) bool {
	switch string(name) {
	case "stringValue", "string_value":
		list.Str(r.text(l))
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
	case "boolValue", "bool_value", "kvlistValue", "kvlist_value", "bytesValue", "bytes_value":
		l.Skip()
		list.Other()
	default:
		l.Skip()
		return false
	}
	return true
}
