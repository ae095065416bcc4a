package spans

import (
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/internal/attrmap"
)

// The methods in this file read the attributes of spans in canonical form, as programs encode
// them: tags and lengths of no more bytes than needed. Any other one and any other field is read by
// parseSpanField, and an attribute value that is not canonical by parseValue.

// The tags of attributes and of what is in them.
const (
	tagAttribute = fieldSpanAttributes<<3 | WireBytes
	tagKey       = fieldKey<<3 | WireBytes
	tagValue     = fieldValue<<3 | WireBytes
	tagString    = fieldString<<3 | WireBytes
	tagInt       = fieldInt<<3 | WireVarint
	tagArray     = fieldArray<<3 | WireBytes
	tagValues    = fieldValues<<3 | WireBytes
)

// readSpan reads a span.
func (r *Proto) readSpan(b []byte) error {
	r.begin()
	w := &r.msg
	for w.reset(b); w.err == nil && w.pos < len(b); {
		if end := r.canonicalAttributes(b, w.pos); end > w.pos {
			w.pos = end
		} else if w.next() {
			r.parseSpanField(w)
		}
	}
	return w.err
}

// tooFar is an end that is not within any message.
const tooFar = math.MaxInt

// extent reads the length at b[i] and returns the start and the end of the content
// behind it. The end may be beyond b.
func extent(b []byte, i int) (start, end int) {
	if i >= len(b) {
		return 0, tooFar
	}
	if b[i] < 0x80 {
		return i + 1, i + 1 + int(b[i])
	}
	size, n := binary.Uvarint(b[i:])
	if start = i + n; n <= 0 || size > uint64(len(b)-start) {
		return 0, tooFar
	}
	return start, start + int(size)
}

// canonicalAttributes adds the attributes from b[i] on to the builder and returns the
// index behind the last one in the run that is canonical.
func (r *Proto) canonicalAttributes(b []byte, i int) int {
	for i < len(b) && b[i] == tagAttribute {
		a, from, to, end := r.attributeAt(b, i)
		if a == nil {
			break
		}
		if !a.wanted {
			r.builder.SetOther(a.target)
		} else if !r.canonicalValue(a.target, b, from, to) {
			r.value.reset(b[from:to])
			if r.parseValue(&r.value, a.target); r.value.err != nil {
				break
			}
		}
		i = end
	}
	return i
}

// attributeAt returns the attribute at b[i], where its value stands, and where the attribute ends. It returns nil
// for one that is not canonical. Either part of a KeyValue may come first: pdata writes the value in front.
func (r *Proto) attributeAt(b []byte, i int) (a *attribute, from, to, end int) {
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
		text, from, to = b[i:to], from2, to2
	case b[i] == tagValue && b[to] == tagKey:
		text = b[to:to2]
	default:
		return nil, 0, 0, 0
	}
	if len(text) > maxKeyField {
		return nil, 0, 0, 0
	}
	if a = r.attributes[string(text)]; a == nil {
		a = r.attributes.add(text, kindString, r.builder.Target(string(text[2:])))
	}
	return a, from, to, end
}

// maxKeyField is the size of a key's field with a length of one byte.
const maxKeyField = 2 + 0x7f

// canonicalValue adds the AnyValue b[i:end] to the builder if it is a string, an integer,
// or a list of integers or of lists of integers. It adds nothing and reports false for any
// other value.
func (r *Proto) canonicalValue(t attrmap.Target, b []byte, i, end int) bool {
	if end-i < 2 {
		return false
	}
	start, to := i+2, i+2+int(b[i+1])
	if b[i+1] >= 0x80 {
		start, to = extent(b, i+1)
	}
	switch b[i] {
	case tagString:
		if to != end {
			return false
		}
		text, ok := r.strings.Valid(b[start:end])
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

// canonicalList is canonicalValue for the elements of an array: of integers, or of
// arrays of integers.
func (r *Proto) canonicalList(t attrmap.Target, b []byte) (ok bool) {
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	if len(b) < 3 || b[2] == tagInt {
		if r.dims, ok = appendProtoInts(r.dims, b); ok {
			r.builder.SetInts(t, r.dims)
		}
		return ok
	}
	for len(b) > 0 {
		// An element is an array in a value, each with a tag and a length.
		if len(b) < 4 || b[0] != tagValues || b[2] != tagArray || b[1] >= 0x80 || b[1] != b[3]+2 || len(b) < 4+int(b[3]) {
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

// appendProtoInts appends the elements of an array of integers.
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
