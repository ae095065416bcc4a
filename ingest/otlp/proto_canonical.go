package otlp

import (
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/op"
)

// The methods in this file read spans in canonical form, as programs encode them:
// known fields only, tags and lengths of no more bytes than needed. A single
// attribute value that is not canonical is read by parseValue; any other span is read
// by parseSpan, from its start.

// The tags of the fields of a span. Those of the flags take two bytes, all others one.
const (
	tagTraceID    = fieldSpanTraceID<<3 | wireBytes
	tagSpanID     = fieldSpanID<<3 | wireBytes
	tagTraceState = fieldSpanTraceState<<3 | wireBytes
	tagParentID   = fieldSpanParentID<<3 | wireBytes
	tagName       = fieldSpanName<<3 | wireBytes
	tagKind       = fieldSpanKind<<3 | wireVarint
	tagStart      = fieldSpanStart<<3 | wireI64
	tagEnd        = fieldSpanEnd<<3 | wireI64
	tagAttribute  = fieldSpanAttributes<<3 | wireBytes
	tagEvent      = fieldSpanEvents<<3 | wireBytes
	tagLink       = fieldSpanLinks<<3 | wireBytes
	tagStatus     = fieldSpanStatus<<3 | wireBytes
	tagFlags      = fieldSpanFlags<<3 | wireI32
	tagFlags0     = tagFlags&0x7f | 0x80
	tagFlags1     = tagFlags >> 7

	tagKey    = fieldKey<<3 | wireBytes
	tagValue  = fieldValue<<3 | wireBytes
	tagString = fieldString<<3 | wireBytes
	tagInt    = fieldInt<<3 | wireVarint
	tagArray  = fieldArray<<3 | wireBytes
	tagValues = fieldValues<<3 | wireBytes
)

// canonicalSpan reads a span and reports whether it is canonical.
func (r *protoReader) canonicalSpan(b []byte) bool {
	r.begin()
	r.attributes.start()
	f := &r.fields
	for i := 0; i < len(b); {
		start, end := 0, 0
		switch b[i] {
		case tagTraceID:
			if start, end = extent(b, i+1); end-start != len(f.trace) {
				return false
			}
			f.trace = op.TraceID(b[start:end])
		case tagSpanID:
			if start, end = extent(b, i+1); end-start != len(f.id) {
				return false
			}
			f.id = op.SpanID(b[start:end])
		case tagParentID:
			switch start, end = extent(b, i+1); end - start {
			case 0:
				f.parent = op.SpanID{}
			case len(f.parent):
				f.parent = op.SpanID(b[start:end])
			default:
				return false
			}
		case tagStart:
			if end = i + 9; end <= len(b) {
				f.start = binary.LittleEndian.Uint64(b[i+1:])
			}
		case tagEnd:
			if end = i + 9; end <= len(b) {
				f.end = binary.LittleEndian.Uint64(b[i+1:])
			}
		case tagAttribute:
			if end = r.canonicalAttributes(b, i); end < 0 {
				return false
			}
		case tagName:
			var ok bool
			if start, end = extent(b, i+1); end <= len(b) {
				if f.name, ok = r.plainText(b[start:end]); !ok {
					return false
				}
			}
		case tagTraceState:
			if start, end = extent(b, i+1); end <= len(b) {
				f.state = string(b[start:end])
			}
		case tagKind:
			if end = i + 2; end <= len(b) {
				if b[i+1] >= 0x80 {
					return false
				}
				f.kind = int64(b[i+1])
			}
		case tagFlags0:
			if end = i + 6; end <= len(b) {
				if b[i+1] != tagFlags1 {
					return false
				}
				f.flags = binary.LittleEndian.Uint32(b[i+2:])
			}
		case tagStatus:
			if start, end = extent(b, i+1); end <= len(b) {
				w := wire{buf: b[start:end]}
				if r.parseStatus(&w); w.err != nil {
					return false
				}
			}
		case tagLink:
			if start, end = extent(b, i+1); end <= len(b) {
				w := wire{buf: b[start:end]}
				if r.parseLink(&w); w.err != nil {
					return false
				}
			}
		case tagEvent:
			if start, end = extent(b, i+1); end <= len(b) && r.builder.KeepsAll() {
				w := wire{buf: b[start:end]}
				if r.parseEvent(&w); w.err != nil {
					return false
				}
			}
		default:
			return false
		}
		if end > len(b) {
			return false
		}
		i = end
	}
	return true
}

// tooFar is an end that is not within any message.
const tooFar = math.MaxInt

// extent reads the length at b[i] and returns the start and the end of the field's
// content. The end is tooFar if it is not within b.
func extent(b []byte, i int) (start, end int) {
	if i < len(b) && b[i] < 0x80 {
		start = i + 1
		end = start + int(b[i])
	} else if i+1 < len(b) && b[i+1] < 0x80 {
		start = i + 2
		end = start + int(b[i]&0x7f) | int(b[i+1])<<7
	} else {
		return longExtent(b, i)
	}
	if end > len(b) {
		return 0, tooFar
	}
	return start, end
}

func longExtent(b []byte, i int) (start, end int) {
	if i >= len(b) {
		return 0, tooFar
	}
	size, n := binary.Uvarint(b[i:])
	if start = i + n; n <= 0 || size > uint64(len(b)-start) {
		return 0, tooFar
	}
	return start, start + int(size)
}

// canonicalAttributes adds the attributes from b[i] on to the builder and returns the
// index behind the last one in the run, -1 if one of them is not canonical.
func (r *protoReader) canonicalAttributes(b []byte, i int) int {
	before := r.attributes.before
	for i < len(b) && b[i] == tagAttribute {
		if i+3 > len(b) {
			return -1
		}
		start, size := i+2, int(b[i+1])
		if size >= 0x80 {
			start, size = i+3, size&0x7f|int(b[i+2])<<7
			if b[i+2] >= 0x80 {
				return -1
			}
		}
		if i = start + size; i > len(b) {
			return -1
		}
		key, value := cutKeyValue(b[start:i])
		if value == nil || len(key) > maxAttributeText {
			return -1
		}
		a := before.next
		if a == nil || a.text != string(key) {
			a = r.attributeOf(key, before)
		}
		before = a
		if !a.wanted {
			r.builder.SetOther(a.target)
		} else if !r.canonicalValue(a.target, value) {
			w := wire{buf: value}
			if r.parseValue(&w, a.target); w.err != nil {
				return -1
			}
		}
	}
	r.attributes.before = before
	return i
}

// cutKeyValue returns the parts of a KeyValue, a nil value if it is not canonical. Either
// part may come first: pdata writes the value in front.
func cutKeyValue(b []byte) (key, value []byte) {
	if len(b) < 4 {
		return nil, nil
	}
	start, end := 2, 2+int(b[1])
	if b[1] >= 0x80 {
		start, end = extent(b, 1)
	}
	if end > len(b)-2 {
		return nil, nil
	}
	start2, end2 := end+2, end+2+int(b[end+1])
	if b[end+1] >= 0x80 {
		start2, end2 = extent(b, end+1)
	}
	switch {
	case end2 != len(b):
		return nil, nil
	case b[0] == tagKey && b[end] == tagValue:
		return b[start:end], b[start2:]
	case b[0] == tagValue && b[end] == tagKey:
		return b[start2:], b[start:end]
	}
	return nil, nil
}

// attributeOf returns the attribute with a key, behind another one.
func (r *protoReader) attributeOf(key []byte, before *attribute) *attribute {
	a := before.other
	if a == nil || a.text != string(key) {
		if a = r.attributes.find(key); a == nil {
			name := string(key)
			a = r.attributes.add(&attribute{text: name, target: r.builder.Target(name)})
		}
	}
	before.expect(a)
	return a
}

// canonicalValue adds an AnyValue to the builder that is a string, an integer, or a
// list of strings, of integers or of lists of integers. It adds nothing and reports
// false for any other value.
func (r *protoReader) canonicalValue(t op.Target, b []byte) bool {
	if len(b) < 2 {
		return false
	}
	start, end := 2, 2+int(b[1])
	if b[1] >= 0x80 {
		start, end = extent(b, 1)
	}
	switch b[0] {
	case tagString:
		if end != len(b) {
			return false
		}
		text, ok := r.plainText(b[start:])
		if !ok {
			return false
		}
		r.builder.SetText(t, text)
	case tagInt:
		v, n := uint64(b[1]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(b[1:])
		}
		if n != len(b)-1 {
			return false
		}
		r.builder.SetInt(t, int64(v))
	case tagArray:
		if end != len(b) {
			return false
		}
		return r.canonicalList(t, b[start:])
	default:
		return false
	}
	return true
}

// canonicalList is canonicalValue for the elements of an array.
func (r *protoReader) canonicalList(t op.Target, b []byte) (ok bool) {
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	if len(b) < 3 || b[2] == tagInt {
		if r.dims, ok = appendProtoInts(r.dims, b); ok {
			r.builder.SetInts(t, r.dims)
		}
		return ok
	}
	if b[2] == tagString {
		return r.canonicalStrings(t, b)
	}
	for i := 0; i < len(b); {
		start, end := extent(b, i+1)
		if b[i] != tagValues || end > len(b) || end-start < 2 || b[start] != tagArray {
			return false
		}
		start, last := extent(b[:end], start+1)
		if last != end {
			return false
		}
		if r.dims, ok = appendProtoInts(r.dims, b[start:end]); !ok {
			return false
		}
		r.ends = append(r.ends, len(r.dims))
		i = end
	}
	r.builder.SetIntLists(t, r.dims, r.ends)
	return true
}

// appendProtoInts appends the elements of an array of integers.
func appendProtoInts(dst []int64, b []byte) ([]int64, bool) {
	for i := 0; i < len(b); {
		if i+4 > len(b) || b[i] != tagValues || b[i+2] != tagInt || b[i+1] >= 0x80 {
			return dst, false
		}
		end := i + 2 + int(b[i+1])
		v, n := uint64(b[i+3]), 1
		switch {
		case end > len(b):
			return dst, false
		case v < 0x80:
		case end == i+5 && b[i+4] < 0x80:
			v, n = v&0x7f|uint64(b[i+4])<<7, 2
		case end >= i+4:
			v, n = binary.Uvarint(b[i+3 : end])
		}
		if i+3+n != end {
			return dst, false
		}
		dst = append(dst, int64(v))
		i = end
	}
	return dst, true
}

// canonicalStrings is canonicalList for strings.
func (r *protoReader) canonicalStrings(t op.Target, b []byte) bool {
	r.texts = r.texts[:0]
	for i := 0; i < len(b); {
		start, end := extent(b, i+1)
		if b[i] != tagValues || end > len(b) || end-start < 2 || b[start] != tagString {
			return false
		}
		start, last := extent(b[:end], start+1)
		if last != end {
			return false
		}
		text, ok := r.plainText(b[start:end])
		if !ok {
			return false
		}
		r.texts = append(r.texts, text)
		i = end
	}
	r.builder.SetStrs(t, r.texts)
	return true
}
