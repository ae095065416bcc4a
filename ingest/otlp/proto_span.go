package otlp

import (
	"math"

	"github.com/optrace/optrace/op"
)

// The field numbers of the messages, from opentelemetry/proto/trace/v1 and
// common/v1.
const (
	fieldTracesResourceSpans = 1

	fieldGroupHeader = 1 // the resource of ResourceSpans, the scope of ScopeSpans
	fieldGroupList   = 2 // the scope_spans of ResourceSpans, the spans of ScopeSpans

	fieldResourceAttributes = 1
	fieldScopeName          = 1

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
	fieldSpanStatus     = 15
	fieldSpanFlags      = 16

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

// parseResource reads a Resource.
func (d *decoder) parseResource(w wire) error {
	var attrs []member
	for w.next() {
		if w.field != fieldResourceAttributes {
			w.skip()
			continue
		}
		m := w.message()
		attrs = append(attrs, parseMember(&m, 0))
		w.join(&m)
	}
	d.setResource(attrs)
	return w.err
}

// parseScope reads an InstrumentationScope.
func (d *decoder) parseScope(w wire) error {
	d.scope = ""
	for w.next() {
		if w.field != fieldScopeName {
			w.skip()
			continue
		}
		d.scope = valid(d.strings.String(w.bytes()))
	}
	return w.err
}

// parseSpan reads a Span into the builder and the fields.
func (d *decoder) parseSpan(w wire) error {
	d.begin()
	d.recalling = d.templates.Awake()
	err := d.parseSpanFields(w)
	if d.repeated {
		// A second run of attributes adds to the first.
		d.begin()
		d.recalling = false
		err = d.parseSpanFields(w)
	}
	return err
}

func (d *decoder) parseSpanFields(w wire) error {
	f := &d.fields
	for d.usualFields(&w); !d.repeated && w.next(); d.usualFields(&w) {
		switch w.field {
		case fieldSpanTraceID:
			f.setTrace(w.bytes())
		case fieldSpanID:
			f.setID(&f.id, w.bytes())
		case fieldSpanParentID:
			f.setID(&f.parent, w.bytes())
		case fieldSpanTraceState:
			f.state = d.strings.String(w.bytes())
		case fieldSpanName:
			f.name = d.strings.String(w.bytes())
		case fieldSpanStart:
			f.start = w.fixed64()
		case fieldSpanEnd:
			f.end = w.fixed64()
		case fieldSpanAttributes:
			d.parseAttributes(&w)
		case fieldSpanDropped:
			f.dropped = int64(uint32(w.uint()))
		case fieldSpanStatus:
			m := w.message()
			d.parseStatus(&m)
			w.join(&m)
		case fieldSpanFlags:
			f.flags = w.fixed32()
		default:
			w.skip()
		}
	}
	return w.err
}

// attributeTag is the tag of a span's attribute, as all encoders write it.
const attributeTag = fieldSpanAttributes<<3 | wireBytes

// parseAttributes feeds the run of attributes whose first tag has just been read
// to the builder, or what it made of the same ones before.
func (d *decoder) parseAttributes(w *wire) {
	start := w.pos - 1
	size, found := d.attributes(w.buf[start:], attributesExtent)
	switch {
	case d.repeated:
		return
	case found:
		// The byte behind a run belongs to its text: it tells that no other
		// attribute follows.
		w.pos = start + size - 1
		return
	}
	for {
		m := w.message()
		d.parseAttribute(&m)
		w.join(&m)
		if w.err != nil || w.pos >= len(w.buf) || w.buf[w.pos] != attributeTag {
			break
		}
		w.next()
	}
	if d.recalling && w.err == nil && w.pos < len(w.buf) && w.buf[start] == attributeTag {
		d.remember(w.buf[start : w.pos+1])
	}
}

// attributesExtent returns how long the run of attributes is that b starts with,
// the byte behind it included; 0 where that cannot be told easily.
func attributesExtent(b []byte) int {
	n := 0
	for n+2 < len(b) && b[n] == attributeTag {
		size := int(b[n+1])
		n += 2
		if size >= 0x80 {
			if b[n] >= 0x80 {
				return 0
			}
			size = size&0x7f | int(b[n])<<7
			n++
		}
		n += size
	}
	if n == 0 || n >= len(b) {
		return 0
	}
	return n + 1
}

func (d *decoder) parseStatus(w *wire) {
	for w.next() {
		switch w.field {
		case fieldStatusMessage:
			d.fields.message = d.strings.String(w.bytes())
		case fieldStatusCode:
			d.fields.failed = w.uint() == statusError
		default:
			w.skip()
		}
	}
}

// parseAttribute feeds one attribute of a span to the builder.
func (d *decoder) parseAttribute(w *wire) {
	var k key
	var value wire
	hasKey := false
	for w.next() {
		switch w.field {
		case fieldKey:
			k, hasKey = d.keys.lookup(w.bytes()), true
		case fieldValue:
			value = w.message()
		default:
			w.skip()
		}
	}
	if w.err != nil {
		return
	}
	if !hasKey {
		k = d.keys.lookup(nil)
	}
	d.parseValue(&value, k)
	w.join(&value)
}

// parseValue feeds an attribute's value to the builder.
func (d *decoder) parseValue(w *wire, k key) {
	b := d.builder
	if !k.wants {
		b.Other(k.name)
		return
	}
	empty := true
	for w.next() {
		if d.parseVariant(w, k) {
			empty = false
		}
	}
	if empty { // or of a type that a later version added
		b.Other(k.name)
	}
}

// parseVariant feeds a value of the current field's type to the builder. It
// passes over what is none of the types.
func (d *decoder) parseVariant(w *wire, k key) bool {
	b := d.builder
	switch w.field {
	case fieldString:
		b.Str(k.name, d.strings.String(w.bytes()))
	case fieldBool:
		b.Bool(k.name, w.uint() != 0)
	case fieldInt:
		b.Int(k.name, int64(w.uint()))
	case fieldDouble:
		b.Float(k.name, math.Float64frombits(w.fixed64()))
	case fieldArray:
		m := w.message()
		list := b.BeginList(k.name)
		d.parseArray(&m, &list, 0)
		list.End()
		w.join(&m)
	case fieldMap, fieldBytes:
		w.bytes()
		b.Other(k.name)
	default:
		w.skip()
		return false
	}
	return true
}

// parseArray feeds the elements of an array to a list.
func (d *decoder) parseArray(w *wire, list *op.List, depth int) {
	for w.next() {
		if w.field != fieldValues {
			w.skip()
			continue
		}
		m := w.message()
		d.parseElement(&m, list, depth)
		w.join(&m)
	}
}

func (d *decoder) parseElement(w *wire, list *op.List, depth int) {
	empty := true
	for w.next() {
		if d.parseElementVariant(w, list, depth) {
			empty = false
		}
	}
	if empty {
		list.Other()
	}
}

func (d *decoder) parseElementVariant(w *wire, list *op.List, depth int) bool {
	switch w.field {
	case fieldString:
		list.Str(d.strings.String(w.bytes()))
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
		d.parseArray(&m, list, depth+1)
		list.End()
		w.join(&m)
	case fieldBool, fieldMap, fieldBytes:
		w.skip()
		list.Other()
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
