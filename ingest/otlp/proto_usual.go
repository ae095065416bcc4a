package otlp

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// usualFields reads the fields of a span that are next and encoded as usual: a
// tag of one byte, and a value of the expected length. It stops in front of the
// first other one. One switch per field takes half of what the checks of a field
// of any kind do.
func (d *decoder) usualFields(w *wire) {
	f := &d.fields
	for len(w.buf)-w.pos >= 2 {
		b := w.buf[w.pos:]
		size := 2
		switch b[0] {
		case fieldSpanTraceID<<3 | wireBytes:
			if size += len(f.trace); b[1] != byte(len(f.trace)) || len(b) < size {
				return
			}
			f.trace = op.TraceID(b[2:size])
		case fieldSpanID<<3 | wireBytes:
			if size += len(f.id); b[1] != byte(len(f.id)) || len(b) < size {
				return
			}
			f.id = op.SpanID(b[2:size])
		case fieldSpanParentID<<3 | wireBytes:
			switch size += int(b[1]); {
			case b[1] == 0:
				f.parent = op.SpanID{}
			case b[1] == byte(len(f.parent)) && len(b) >= size:
				f.parent = op.SpanID(b[2:size])
			default:
				return
			}
		case fieldSpanName<<3 | wireBytes:
			if size += int(b[1]); b[1] >= 0x80 || len(b) < size {
				return
			}
			f.name = d.strings.String(b[2:size])
		case fieldSpanKind<<3 | wireVarint:
			if b[1] >= 0x80 {
				return
			}
		case fieldSpanStart<<3 | wireI64:
			if size = 9; len(b) < size {
				return
			}
			f.start = binary.LittleEndian.Uint64(b[1:])
		case fieldSpanEnd<<3 | wireI64:
			if size = 9; len(b) < size {
				return
			}
			f.end = binary.LittleEndian.Uint64(b[1:])
		case fieldSpanStatus<<3 | wireBytes:
			if b[1] != 0 {
				return
			}
		case attributeTag:
			w.pos++
			w.field, w.typ = fieldSpanAttributes, wireBytes
			if d.parseAttributes(w); d.repeated || w.err != nil {
				return
			}
			continue
		case flagsTag & 0xff:
			if size = 6; b[1] != flagsTag>>8 || len(b) < size {
				return
			}
			f.flags = binary.LittleEndian.Uint32(b[2:])
		default:
			return
		}
		w.pos += size
	}
}

// usualMessage reads the field that is next if it is a message with the tag, which
// has one byte, and a length of one or two. It reports false, and reads nothing,
// for any other one.
func (w *wire) usualMessage(tag byte) (m wire, ok bool) {
	b := w.buf[w.pos:]
	if len(b) < 3 || b[0] != tag || w.err != nil {
		return wire{}, false
	}
	size, n := int(b[1]), 2
	if size >= 0x80 {
		if b[2] >= 0x80 {
			return wire{}, false
		}
		size, n = size&0x7f|int(b[2])<<7, 3
	}
	if size > len(b)-n {
		return wire{}, false
	}
	w.pos += n + size
	return wire{buf: b[n : n+size]}, true
}

// flagsTag is the varint of the tag of a span's flags, its first byte lowest.
const flagsTag = (fieldSpanFlags<<3|wireI32)&0x7f | 0x80 | (fieldSpanFlags<<3|wireI32)>>7<<8
