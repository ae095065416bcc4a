package spans

import (
	"strconv"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

var (
	kindNames = []string{
		"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER",
		"SPAN_KIND_CONSUMER",
	}
	codeNames = []string{"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"}
)

func (d *Decoder) parseSpan(m message) {
	d.begin()
	for outer := m.open(); m.more(outer, spanSchema); {
		d.parseSpanField(m)
	}
}

func (d *Decoder) parseSpanField(m message) {
	f := &d.fields
	var ok bool
	switch m.number() {
	case protobuf.SpanTraceID:
		ok = m.id(f.trace[:])
		f.badID = f.badID || !ok
	case protobuf.SpanID:
		ok = m.id(f.id[:])
		f.badID = f.badID || !ok
	case protobuf.SpanParentID:
		ok = m.id(f.parent[:])
		f.badID = f.badID || !ok
	case protobuf.SpanTraceState:
		f.state = d.parseText(m)
	case protobuf.SpanName:
		f.name = d.parseText(m)
		f.rawName = nil
	case protobuf.SpanKind:
		f.kind = m.enum(kindNames)
	case protobuf.SpanFlags:
		f.flags = m.flags()
	case protobuf.SpanStart:
		f.start, ok = m.time()
		f.invalidTimes = f.invalidTimes || !ok
	case protobuf.SpanEnd:
		f.end, ok = m.time()
		f.invalidTimes = f.invalidTimes || !ok
	case protobuf.SpanAttributes:
		for first := true; m.element(first); first = false {
			d.parseAttribute(m)
		}
	case protobuf.SpanDroppedAttributes:
		f.dropped = m.count()
	case protobuf.SpanLinks:
		for first := true; m.element(first); first = false {
			d.parseLink(m)
		}
	case protobuf.SpanDroppedLinks:
		f.droppedLinks = m.count()
	case protobuf.SpanEvents:
		for first := true; m.element(first); first = false {
			d.parseEvent(m)
		}
	case protobuf.SpanDroppedEvents:
		f.droppedEvents = m.count()
	case protobuf.SpanStatus:
		d.parseStatus(m)
	default:
		m.skip()
	}
}

func (d *Decoder) parseStatus(m message) {
	if m.null() {
		return
	}
	f := &d.fields
	for outer := m.open(); m.more(outer, statusSchema); {
		switch m.number() {
		case protobuf.StatusMessage:
			f.message = d.parseText(m)
		case protobuf.StatusCode:
			f.code = m.enum(codeNames)
			f.failed = f.code == statusError
		default:
			m.skip()
		}
	}
}

// parseLink gives a link of a span to the builder. Bad ids are zero.
func (d *Decoder) parseLink(m message) {
	var link op.Link
	var extra op.LinkExtra
	for outer := m.open(); m.more(outer, linkSchema); {
		switch m.number() {
		case protobuf.LinkTraceID:
			m.id(link.TraceID[:])
		case protobuf.LinkSpanID:
			m.id(link.SpanID[:])
		case protobuf.LinkTraceState:
			extra.TraceState = valid(d.parseText(m))
		case protobuf.LinkAttributes:
			for first := true; m.element(first); first = false {
				if a := d.parseAttr(m); m.failure() == nil {
					d.builder.LinkAttr(&link, &extra, a)
				}
			}
		case protobuf.LinkDroppedAttributes:
			extra.DroppedAttributes = m.count()
		case protobuf.LinkFlags:
			extra.Flags = m.flags()
		default:
			m.skip()
		}
	}
	if m.failure() == nil {
		d.builder.AddLinkWith(link, &extra)
	}
}

func (d *Decoder) parseEvent(m message) {
	var e op.Event
	for outer := m.open(); m.more(outer, eventSchema); {
		switch m.number() {
		case protobuf.EventTime:
			ns, _ := m.time()
			e.Time = knownTime(ns)
		case protobuf.EventName:
			e.Name = valid(d.parseText(m))
		case protobuf.EventAttributes:
			if e.Name != "" && !d.builder.WantsEvent(e.Name) {
				m.skip()
				continue
			}
			for first := true; m.element(first); first = false {
				e.Attrs = d.builder.EventAttr(e.Attrs, d.parseAttr(m))
			}
		case protobuf.EventDroppedAttributes:
			e.DroppedAttributes = m.count()
		default:
			m.skip()
		}
	}
	if m.failure() == nil {
		d.builder.AddEvent(e)
	}
}

func (d *Decoder) parseScope(m message) {
	d.Scope = op.Scope{}
	if m.null() {
		return
	}
	for outer := m.open(); m.more(outer, scopeSchema); {
		switch m.number() {
		case protobuf.ScopeName:
			d.Scope.Name = valid(d.parseText(m))
		case protobuf.ScopeVersion:
			d.Scope.Version = valid(d.parseText(m))
		case protobuf.ScopeAttributes:
			for first := true; m.element(first); first = false {
				d.Scope.Attrs = d.builder.Outer.Append(d.Scope.Attrs, d.parseAttr(m))
			}
		default:
			m.skip()
		}
	}
}

func (d *Decoder) parseResource(m message) {
	d.Resource = op.Resource{}
	d.builder.Outer.Held.Reset()
	if m.null() {
		return
	}
	for outer := m.open(); m.more(outer, resourceSchema); {
		if m.number() != protobuf.ResourceAttributes {
			m.skip()
			continue
		}
		for first := true; m.element(first); first = false {
			opmodel.SetResourceAttr(&d.Resource, &d.builder.Outer, d.parseAttr(m))
		}
	}
}

// parseText reads a string; null is "".
func (d *Decoder) parseText(m message) string {
	if m.null() {
		return ""
	}
	return d.text(m.bytes())
}

// maxValueDepth bounds the depth of attribute values. Shapes need two levels; a deeper value counts as one of a wrong
// type.
const maxValueDepth = 8

func (d *Decoder) parseAttribute(m message) {
	t := attrmap.Target{}
	var hasKey, hasValue bool
	for outer := m.open(); m.more(outer, attrSchema); {
		switch m.number() {
		case protobuf.KeyValueKey:
			t, hasKey = d.builder.Target(d.text(m.bytes())), true
		case protobuf.KeyValueValue:
			if !hasKey {
				t, hasKey = d.builder.Target(d.text(m.key())), true
			}
			hasValue = true
			d.parseValue(m, t)
		default:
			m.skip()
		}
	}
	if hasValue || m.failure() != nil {
		return
	}
	if !hasKey {
		t = d.builder.Target("")
	}
	if t.Wanted() {
		d.builder.SetEmpty(t)
	} else {
		d.builder.SetOther(t)
	}
}

func (d *Decoder) parseValue(m message, t attrmap.Target) {
	b := d.builder
	if !t.Wanted() {
		m.skip()
		b.SetOther(t)
		return
	}
	if m.null() {
		b.SetEmpty(t)
		return
	}
	empty := true
	for outer := m.open(); m.more(outer, valueSchema); {
		if d.parseVariant(m, t) {
			empty = false
		}
	}
	if empty { // or a type of a later version
		b.SetEmpty(t)
	}
}

// parseVariant feeds a value of the current field's type to the builder. It skips an unknown type.
func (d *Decoder) parseVariant(m message, t attrmap.Target) bool {
	b := d.builder
	ok := true
	switch number := m.number(); number {
	case protobuf.AnyString:
		b.SetStr(t, d.parseText(m))
	case protobuf.AnyInt:
		var n int64
		if n, ok = m.integer(); ok {
			b.SetInt(t, n)
		}
	case protobuf.AnyDouble:
		var f float64
		if f, ok = m.double(); ok {
			b.SetFloat(t, f)
		}
	case protobuf.AnyBool:
		var v bool
		if v, ok = m.boolean(); ok {
			b.SetBool(t, v)
		}
	case protobuf.AnyArray:
		d.json, _ = d.appendVariant(d.json[:0], m, 0)
		b.SetList(t, d.json)
	case protobuf.AnyMap, protobuf.AnyBytes:
		if !t.Kept() {
			m.skip()
			b.SetOther(t)
			break
		}
		typ := op.AttrJSON
		if number == protobuf.AnyBytes {
			typ = op.AttrBytes
			d.json, ok = m.base64(d.json[:0])
		} else {
			d.json, _ = d.appendVariant(d.json[:0], m, 0)
		}
		if ok {
			b.SetRaw(t, typ, d.json)
		} else {
			b.SetEmpty(t)
		}
		return true
	default:
		m.skip()
		return false
	}
	if !ok {
		b.SetOther(t)
	}
	return true
}

// parseAttr reads an attribute of a resource, scope, event or link.
func (d *Decoder) parseAttr(m message) op.Attr {
	a := op.Attr{Value: "null", Type: op.AttrJSON}
	for outer := m.open(); m.more(outer, attrSchema); {
		switch m.number() {
		case protobuf.KeyValueKey:
			a.Key = valid(string(m.bytes()))
		case protobuf.KeyValueValue:
			d.parseAttrValue(m, &a)
		default:
			m.skip()
		}
	}
	return a
}

func (d *Decoder) parseAttrValue(m message, a *op.Attr) {
	a.Value = "null"
	a.Type = op.AttrJSON
	if m.null() {
		return
	}
	for outer := m.open(); m.more(outer, valueSchema); {
		switch m.number() {
		case protobuf.AnyString:
			a.Value = valid(string(m.bytes()))
			a.Type = op.AttrText
		case protobuf.AnyBool:
			if v, ok := m.boolean(); ok {
				a.Value = strconv.FormatBool(v)
				a.Type = op.AttrBool
			}
		case protobuf.AnyInt:
			if n, ok := m.integer(); ok {
				a.Value = strconv.FormatInt(n, 10)
				a.Type = op.AttrInt
			}
		case protobuf.AnyDouble:
			if f, ok := m.double(); ok {
				*a = opmodel.FloatAttr(a.Key, f)
			}
		case protobuf.AnyBytes:
			if text, ok := m.base64(nil); ok {
				a.Value = valid(string(text))
				a.Type = op.AttrBytes
			}
		default:
			if text, ok := d.appendVariant(nil, m, 0); ok {
				a.Value = valid(string(text))
				a.Type = op.AttrJSON
			}
		}
	}
}

// appendValue appends an AnyValue as JSON, see op.AttrJSON.
func (d *Decoder) appendValue(dst []byte, m message, depth int) []byte {
	start := len(dst)
	dst = append(dst, "null"...)
	if m.null() {
		return dst
	}
	for outer := m.open(); m.more(outer, valueSchema); {
		if value, ok := d.appendVariant(dst[:start], m, depth); ok {
			dst = value
		}
	}
	return dst
}

// appendVariant appends a value of the current field's type as JSON. It skips an unknown type.
func (d *Decoder) appendVariant(dst []byte, m message, depth int) (value []byte, ok bool) {
	switch m.number() {
	case protobuf.AnyString:
		const escaped = 6 // bytes at most in JSON per byte
		text := m.bytes()
		if !d.builder.Take(escaped * len(text)) {
			return append(dst, "null"...), true
		}
		return scalar.AppendString(dst, string(text)), true
	case protobuf.AnyBool:
		if v, ok := m.boolean(); ok {
			return strconv.AppendBool(dst, v), true
		}
	case protobuf.AnyInt:
		if n, ok := m.integer(); ok {
			return strconv.AppendInt(dst, n, 10), true
		}
	case protobuf.AnyDouble:
		if f, ok := m.double(); ok {
			return scalar.AppendDouble(dst, f), true
		}
	case protobuf.AnyArray:
		return append(d.appendValues(append(dst, '['), m, depth, (*Decoder).appendValue), ']'), true
	case protobuf.AnyMap:
		return append(d.appendValues(append(dst, '{'), m, depth, (*Decoder).appendMember), '}'), true
	case protobuf.AnyBytes: // as JSON has it
		if text, ok := m.base64(nil); ok {
			return scalar.AppendBytes(dst, string(text)), true
		}
	default:
		m.skip()
		return dst, false
	}
	return append(dst, "null"...), true
}

func (d *Decoder) appendMember(dst []byte, m message, depth int) []byte {
	var key string
	value := []byte("null")
	for outer := m.open(); m.more(outer, attrSchema); {
		switch m.number() {
		case protobuf.KeyValueKey:
			key = string(m.bytes())
		case protobuf.KeyValueValue:
			if value = d.appendValue(nil, m, depth); !d.builder.Take(len(value)) {
				value = []byte("null")
			}
		default:
			m.skip()
		}
	}
	return append(append(scalar.AppendString(dst, key), ':'), value...)
}

// appendValues appends the values of an array or a map, separated by commas. It leaves out values nested too deep.
func (d *Decoder) appendValues(
	dst []byte, m message, depth int, element func(d *Decoder, dst []byte, m message, depth int) []byte,
) []byte {
	if depth == maxValueDepth {
		m.skip()
		return dst
	}
	if m.null() {
		return dst
	}
	n := 0
	for outer := m.open(); m.more(outer, valuesSchema); {
		if m.number() != protobuf.ListValues {
			m.skip()
			continue
		}
		for first := true; m.element(first); first = false {
			const copies = 4 // of the text, until it is an attribute
			if !d.builder.Take(copies * len("null,")) {
				m.skip()
				continue
			}
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = element(d, dst, m, depth+1)
		}
	}
	return dst
}
