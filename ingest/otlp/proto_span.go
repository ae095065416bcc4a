package otlp

import (
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/op"
)

// The tags of the fields that a span mostly has, each in one byte but that of
// the flags, which has two.
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

// span reads a span that is encoded as programs encode it: with minimal tags
// and lengths, known fields only. It reports false for any other span, which
// carefulSpan then reads from its start.
func (r *protoReader) plainSpan(b []byte) bool {
	r.begin()
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
			if start, end = extent(b, i+1); end <= len(b) && !r.attribute(b[start:end]) {
				return false
			}
		case tagName:
			if start, end = extent(b, i+1); end <= len(b) {
				f.name = r.strings.String(b[start:end])
			}
		case tagTraceState:
			if start, end = extent(b, i+1); end <= len(b) {
				f.state = r.strings.String(b[start:end])
			}
		case tagKind:
			if end = i + 2; end <= len(b) && b[i+1] >= 0x80 {
				return false
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
		case tagEvent, tagLink:
			_, end = extent(b, i+1)
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

// tooFar is the end of what does not end within the message.
const tooFar = math.MaxInt

// extent reads the length at b[i] and returns where what it counts starts and
// ends. The end is tooFar where that is not within b.
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

// attribute feeds a KeyValue to the builder. Key and value may come in either
// order: pdata writes the value first.
func (r *protoReader) attribute(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	var key, value []byte
	start, end := extent(b, 1)
	if end > len(b)-2 {
		return false
	}
	start2, end2 := extent(b, end+1)
	if end2 != len(b) {
		return false
	}
	switch uint(b[0])<<8 | uint(b[end]) {
	case tagKey<<8 | tagValue:
		key, value = b[start:end], b[start2:]
	case tagValue<<8 | tagKey:
		key, value = b[start2:], b[start:end]
	default:
		return false
	}
	a := r.attributes.before.next
	if a == nil || a.text != string(key) {
		a = r.attributeOf(key)
	}
	r.attributes.took(a)
	if !a.wanted {
		r.builder.SetOther(a.target)
		return true
	}
	if r.value(a.target, value) {
		return true
	}
	w := wire{buf: value}
	r.parseValue(&w, a.target)
	return w.err == nil
}

// attributeOf returns the attribute with a key.
func (r *protoReader) attributeOf(key []byte) *attribute {
	if a := r.attributes.find(key); a != nil {
		return a
	}
	name := string(key)
	return r.attributes.add(&attribute{text: name, target: r.builder.Target(name)})
}

// value feeds an AnyValue to the builder that is a string, an integer, or a list
// of integers or of lists of them. It reports false, and does nothing, for any
// other one.
func (r *protoReader) value(t op.Target, b []byte) bool {
	if len(b) < 2 {
		return false
	}
	switch b[0] {
	case tagString:
		start, end := extent(b, 1)
		if end != len(b) {
			return false
		}
		r.builder.SetStr(t, r.strings.String(b[start:]))
	case tagInt:
		v, n := binary.Uvarint(b[1:])
		if n != len(b)-1 {
			return false
		}
		r.builder.SetInt(t, int64(v))
	case tagArray:
		start, end := extent(b, 1)
		if end != len(b) {
			return false
		}
		return r.list(t, b[start:])
	default:
		return false
	}
	return true
}

// list is value for the elements of an array.
func (r *protoReader) list(t op.Target, b []byte) bool {
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	if len(b) < 3 || b[2] != tagArray {
		if !r.ints(b) {
			return false
		}
		r.builder.SetInts(t, r.dims)
		return true
	}
	for i := 0; i < len(b); {
		start, end := extent(b, i+1)
		if b[i] != tagValues || end-start < 2 || end > len(b) || b[start] != tagArray {
			return false
		}
		start, last := extent(b[:end], start+1)
		if last != end || !r.ints(b[start:end]) {
			return false
		}
		r.ends = append(r.ends, len(r.dims))
		i = end
	}
	r.builder.SetIntLists(t, r.dims, r.ends)
	return true
}

// ints appends the elements of an array of integers to r.dims.
func (r *protoReader) ints(b []byte) bool {
	for i := 0; i < len(b); {
		if i+4 > len(b) || b[i] != tagValues || b[i+2] != tagInt {
			return false
		}
		end := i + 2 + int(b[i+1])
		if b[i+1] >= 0x80 || end > len(b) || end < i+4 {
			return false
		}
		v := uint64(b[i+3])
		if v >= 0x80 {
			var n int
			if v, n = binary.Uvarint(b[i+3 : end]); n != end-i-3 {
				return false
			}
		} else if end != i+4 {
			return false
		}
		r.dims = append(r.dims, int64(v))
		i = end
	}
	return true
}
