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

// flagsTag is the varint of the tag of a span's flags, its first byte lowest.
const flagsTag = (fieldSpanFlags<<3|wireI32)&0x7f | 0x80 | (fieldSpanFlags<<3|wireI32)>>7<<8
