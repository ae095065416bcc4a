package parquet

import (
	"encoding/binary"
	"errors"
	"iter"
)

// thriftReader reads structs of Thrift's compact protocol, in which Parquet
// keeps its metadata. The first error sticks; what is read after it is zero.
type thriftReader struct {
	buf []byte
	pos int
	err error
}

// thriftField is a field of a struct.
type thriftField struct {
	id  int
	typ byte
}

// The types of values. A boolean field is its value.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// maxThriftDepth is how deep skipped values may nest.
const maxThriftDepth = 16

var (
	errThriftShort = errors.New("metadata end early")
	errThrift      = errors.New("metadata are damaged")
)

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// fields yields the fields of the struct that follows. One whose value the
// loop's body does not read is passed over.
func (r *thriftReader) fields() iter.Seq[thriftField] {
	return func(yield func(thriftField) bool) {
		f := thriftField{}
		for r.field(&f) {
			start := r.pos
			if !yield(f) {
				return
			}
			if r.pos == start { // a value takes at least a byte, but for booleans
				r.skip(f.typ, maxThriftDepth)
			}
		}
	}
}

// field reads the header of the field after f, false at the end.
func (r *thriftReader) field(f *thriftField) bool {
	b := r.byte()
	f.typ = b & 15
	if r.err != nil || b == thriftStop {
		return false
	}
	if delta := int(b >> 4); delta > 0 {
		f.id += delta
	} else {
		f.id = int(int16(r.varint()))
	}
	return r.err == nil
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.buf) {
		r.fail(errThriftShort)
	}
	if r.err != nil {
		return 0
	}
	r.pos++
	return r.buf[r.pos-1]
}

func (r *thriftReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.buf[r.pos:])
	switch {
	case n == 0:
		r.fail(errThriftShort)
		return 0
	case n < 0:
		r.fail(errThrift)
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) varint() int64 { return zigzag(r.uvarint()) }

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// int reads an integer of any width; 0 for a value of another type, which stays
// unread.
func (r *thriftReader) int(f thriftField) int64 {
	switch f.typ {
	case thriftByte:
		return int64(int8(r.byte()))
	case thriftI16, thriftI32, thriftI64:
		return r.varint()
	}
	return 0
}

// bytes reads a text; nil for a value of another type, which stays unread.
func (r *thriftReader) bytes(f thriftField) []byte {
	if f.typ != thriftBinary {
		return nil
	}
	return r.take(r.uvarint())
}

func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftShort)
	}
	if r.err != nil {
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// structs reads the header of a list of structs, whose fields the caller then
// reads n times; 0 for any other value, which stays unread.
func (r *thriftReader) structs(f thriftField) (n int) {
	if f.typ != thriftList && f.typ != thriftSet {
		return 0
	}
	start := r.pos
	n, elem := r.listHeader()
	if elem != thriftStruct {
		r.pos = start
		return 0
	}
	return n
}

// listHeader reads the header of a list. It cannot have more elements than
// there are bytes left.
func (r *thriftReader) listHeader() (n int, elem byte) {
	b := r.byte()
	size := uint64(b >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if size > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftShort)
	}
	if r.err != nil {
		return 0, 0
	}
	return int(size), b & 15
}

// skip passes over a value, which may nest depth levels.
func (r *thriftReader) skip(typ byte, depth int) {
	if depth == 0 {
		r.fail(errThrift)
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.take(8)
	case thriftBinary:
		r.take(r.uvarint())
	case thriftList, thriftSet:
		n, elem := r.listHeader()
		for range n {
			r.skipElement(elem, depth-1)
		}
	case thriftMap:
		r.skipMap(depth - 1)
	case thriftStruct:
		f := thriftField{}
		for r.field(&f) {
			r.skip(f.typ, depth-1)
		}
	default:
		r.fail(errThrift)
	}
}

// skipElement is skip for an element of a list or map, where a boolean takes a
// byte.
func (r *thriftReader) skipElement(typ byte, depth int) {
	if r.err != nil {
		return
	}
	if typ == thriftTrue || typ == thriftFalse {
		typ = thriftByte
	}
	r.skip(typ, depth)
}

func (r *thriftReader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	types := r.byte()
	if n > uint64(len(r.buf)-r.pos) {
		r.fail(errThriftShort)
		return
	}
	for range n {
		r.skipElement(types>>4, depth)
		r.skipElement(types&15, depth)
	}
}
