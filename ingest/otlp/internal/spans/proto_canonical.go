package spans

import (
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

// The methods in this file read canonical fields of spans: tags and lengths in the fewest bytes, as programs encode
// them. parseSpanField reads any other field, parseValue any other attribute value.

// The tags of the fields of a span. The flags' tag takes two bytes, all others one.
const (
	tagTraceID   = protobuf.SpanTraceID<<3 | protobuf.Bytes
	tagSpanID    = protobuf.SpanID<<3 | protobuf.Bytes
	tagParentID  = protobuf.SpanParentID<<3 | protobuf.Bytes
	tagName      = protobuf.SpanName<<3 | protobuf.Bytes
	tagKind      = protobuf.SpanKind<<3 | protobuf.Varint
	tagStart     = protobuf.SpanStart<<3 | protobuf.Fixed64
	tagEnd       = protobuf.SpanEnd<<3 | protobuf.Fixed64
	tagAttribute = protobuf.SpanAttributes<<3 | protobuf.Bytes
	tagStatus    = protobuf.SpanStatus<<3 | protobuf.Bytes
	tagFlags     = protobuf.SpanFlags<<3 | protobuf.Fixed32
	tagFlags0    = tagFlags&0x7f | 0x80
	tagFlags1    = tagFlags >> 7

	tagKey    = protobuf.KeyValueKey<<3 | protobuf.Bytes
	tagValue  = protobuf.KeyValueValue<<3 | protobuf.Bytes
	tagString = protobuf.AnyString<<3 | protobuf.Bytes
	tagInt    = protobuf.AnyInt<<3 | protobuf.Varint
	tagArray  = protobuf.AnyArray<<3 | protobuf.Bytes
	tagValues = protobuf.ListValues<<3 | protobuf.Bytes
)

func (r *Proto) readSpan(b []byte) error {
	r.begin()
	r.attributes.start()
	for i := 0; i < len(b); {
		end := r.canonicalField(b, i)
		if end < 0 {
			r.msg.reset(b)
			r.msg.Pos = i
			if r.msg.Next() {
				r.parseSpanField(&r.msg)
			}
			if r.msg.Err != nil {
				return r.msg.Err
			}
			end = r.msg.Pos
		}
		i = end
	}
	return nil
}

// canonicalField reads the field of a span at b[i], or a run of attributes, and returns the index behind it. It returns
// -1 for another form, without effect.
func (r *Proto) canonicalField(b []byte, i int) int {
	f := &r.fields
	switch v := b[i:]; v[0] {
	case tagAttribute:
		return r.canonicalAttributes(b, i)
	case tagTraceID:
		if len(v) >= 18 && v[1] == 16 {
			f.trace = op.TraceID(v[2:18])
			return i + 18
		}
	case tagSpanID:
		if len(v) >= 10 && v[1] == 8 {
			f.id = op.SpanID(v[2:10])
			return i + 10
		}
	case tagParentID:
		if len(v) >= 10 && v[1] == 8 {
			f.parent = op.SpanID(v[2:10])
			return i + 10
		}
	case tagStart:
		if len(v) >= 9 {
			f.start = binary.LittleEndian.Uint64(v[1:])
			return i + 9
		}
	case tagEnd:
		if len(v) >= 9 {
			f.end = binary.LittleEndian.Uint64(v[1:])
			return i + 9
		}
	case tagName:
		if start, end := extent(b, i+1); end <= len(b) {
			f.rawName = b[start:end]
			return end
		}
	case tagKind:
		if len(v) >= 2 && v[1] < 0x80 {
			f.kind = int64(v[1])
			return i + 2
		}
	case tagStatus:
		if len(v) >= 2 && v[1] == 0 { // pdata writes it always
			return i + 2
		}
	case tagFlags0:
		if len(v) >= 6 && v[1] == tagFlags1 {
			f.flags = binary.LittleEndian.Uint32(v[2:])
			return i + 6
		}
	}
	return -1
}

const tooFar = math.MaxInt

// extent reads the length at b[i] and returns the start and the end of the content behind it. The end may be beyond b.
func extent(b []byte, i int) (start, end int) {
	if i < len(b) && b[i] < 0x80 {
		return i + 1, i + 1 + int(b[i])
	}
	return longExtent(b, i)
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

// canonicalAttributes adds the canonical attributes from b[i] on to the builder and returns the index behind them, -1
// if the first one is not canonical.
func (r *Proto) canonicalAttributes(b []byte, i int) int {
	before := r.attributes.before
	first := i
	for i < len(b) && b[i] == tagAttribute {
		a := before.next
		from, to, end := a.valueAt(b, i)
		if end == 0 {
			if a, from, to, end = r.attributeAt(b, i, before); a == nil {
				break
			}
		}
		if !a.wanted {
			r.builder.SetOther(a.target)
		} else if !r.canonicalValue(a.target, b, from, to) {
			r.msg.reset(b[from:to])
			if r.parseValue(&r.msg, a.target); r.msg.Err != nil {
				break
			}
		}
		before = a
		i = end
	}
	if i == first {
		return -1
	}
	r.attributes.before = before
	return i
}

// valueAt returns the place of the value in the attribute at b[i], and the attribute's end. The end is 0 if the key is
// not a's or the attribute exceeds 127 bytes. The value may precede the key: pdata writes it first.
func (a *attribute) valueAt(b []byte, i int) (from, to, end int) {
	if a == nil || len(b)-i < 4 {
		return 0, 0, 0
	}
	size := int(b[i+1])
	key := len(a.text)
	i += 2
	end = i + size
	value := size - key - 2
	if size >= 0x80 || end > len(b) || value < 0 {
		return 0, 0, 0
	}
	if b[i] == tagValue && b[i+1] == byte(value) {
		if to = end - key; string(b[to:end]) == a.text {
			return i + 2, to, end
		}
	} else if b[i+key] == tagValue && b[i+key+1] == byte(value) && string(b[i:i+key]) == a.text {
		return end - value, end, end
	}
	return 0, 0, 0
}

// attributeAt returns the unexpected attribute at b[i] behind before, and the results of valueAt. It returns nil if the
// attribute is not canonical.
func (r *Proto) attributeAt(b []byte, i int, before *attribute) (a *attribute, from, to, end int) {
	if from, to, end = before.other.valueAt(b, i); end > 0 {
		before.expect(before.other)
		return before.next, from, to, end
	}
	i, end = extent(b, i+1)
	if end > len(b) || end-i < 4 {
		return nil, 0, 0, 0
	}
	from, to = extent(b, i+1)
	if to > end-2 {
		return nil, 0, 0, 0
	}
	from2, to2 := extent(b, to+1)
	if to2 != end {
		return nil, 0, 0, 0
	}
	var text []byte // the field of the key, with its tag and length
	switch {
	case b[i] == tagKey && b[to] == tagValue:
		text = b[i:to]
		from = from2
		to = to2
	case b[i] == tagValue && b[to] == tagKey:
		text = b[to:to2]
	default:
		return nil, 0, 0, 0
	}
	if len(text) > maxKeyField {
		return nil, 0, 0, 0
	}
	if a = r.attributes.find(text); a == nil {
		a = r.attributes.add(&attribute{text: string(text), target: r.builder.Target(string(text[2:]))})
	}
	if a != before.next {
		before.expect(a)
	}
	return a, from, to, end
}

const maxKeyField = 2 + 0x7f

// canonicalValue adds the AnyValue b[i:end] to the builder if it is a string, an integer, or a list of integers or of
// lists of integers. It reports false for any other value, without effect.
func (r *Proto) canonicalValue(t attrmap.Target, b []byte, i, end int) bool {
	if end-i < 2 {
		return false
	}
	start := i + 2
	to := i + 2 + int(b[i+1])
	if b[i+1] >= 0x80 {
		start, to = extent(b, i+1)
	}
	switch b[i] {
	case tagString:
		if to != end {
			return false
		}
		text, ok := r.canonicalText(b[start:end])
		if !ok {
			return false
		}
		r.builder.SetText(t, text)
	case tagInt:
		v, n := uint64(b[i+1]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(b[i+1 : end])
		}
		if i+1+n != end {
			return false
		}
		r.builder.SetInt(t, int64(v))
	case tagArray:
		return to == end && r.canonicalList(t, b[start:end])
	default:
		return false
	}
	return true
}

// canonicalList is canonicalValue for the elements of an array: of integers, or of arrays of integers.
func (r *Proto) canonicalList(t attrmap.Target, b []byte) (ok bool) {
	r.dims = r.dims[:0]
	r.ends = r.ends[:0]
	if len(b) < 3 || b[2] == tagInt {
		if r.dims, ok = appendProtoInts(r.dims, b); ok {
			r.builder.SetInts(t, r.dims)
		}
		return ok
	}
	for len(b) > 0 {
		// An element is an array in a value, each with a tag and a length.
		if len(b) < 4 || b[0] != tagValues || b[2] != tagArray || b[1] >= 0x80 || b[1] != b[3]+2 ||
			len(b) < 4+int(b[3]) {
			return false
		}
		end := 4 + int(b[3])
		if r.dims, ok = appendProtoInts(r.dims, b[4:end]); !ok {
			return false
		}
		r.ends = append(r.ends, len(r.dims))
		b = b[end:]
	}
	r.builder.SetIntLists(t, r.dims, r.ends)
	return true
}

func appendProtoInts(dst []int64, b []byte) ([]int64, bool) {
	for len(b) > 0 {
		// An element is a tag, a length, another tag and a varint.
		if len(b) < 4 || b[0] != tagValues || b[2] != tagInt {
			return dst, false
		}
		v, n := uint64(b[3]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(b[3:])
		}
		if n < 1 || int(b[1]) != 1+n {
			return dst, false
		}
		dst = append(dst, int64(v))
		b = b[3+n:]
	}
	return dst, true
}

func (r *Proto) canonicalText(b []byte) (text string, ok bool) {
	w, short := intern.WordsOf(b)
	if short {
		if text, ok = r.texts.Find(w); ok {
			return text, true
		}
	}
	if text, ok = r.strings.Valid(b); ok && short {
		r.texts.Add(w, text)
	}
	return text, ok
}
