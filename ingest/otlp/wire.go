package otlp

import (
	"encoding/binary"
	"errors"
	"math"
)

// The wire types of protobuf.
const (
	wireVarint = 0
	wireI64    = 1
	wireBytes  = 2
	wireStart  = 3 // of a group, which proto3 does not have
	wireEnd    = 4
	wireI32    = 5
)

var (
	errWireEnd  = errors.New("unexpected end of protobuf message")
	errVarint   = errors.New("varint longer than 64 bits")
	errField    = errors.New("invalid protobuf field number")
	errWireType = errors.New("invalid protobuf wire type")
	errFieldFit = errors.New("protobuf field of an unexpected wire type")
)

// wire reads the fields of one message. The first error is kept, and from then
// on every call returns zero values.
type wire struct {
	buf []byte
	pos int
	err error

	// field and typ are the number and the wire type of the current field.
	field int
	typ   byte
}

// next goes to the next field and reports whether there is one. Its value has
// to be read or skipped before the next call.
func (w *wire) next() bool {
	if w.err != nil || w.pos >= len(w.buf) {
		return false
	}
	tag := w.varint()
	if w.err != nil {
		return false
	}
	w.typ = byte(tag & 7)
	if n := tag >> 3; n == 0 || n > math.MaxInt32>>2 {
		w.err = errField
		return false
	}
	w.field = int(tag >> 3)
	return true
}

// varint reads a bare varint.
func (w *wire) varint() uint64 {
	if w.err != nil {
		return 0
	}
	if w.pos < len(w.buf) && w.buf[w.pos] < 0x80 { // nearly always
		w.pos++
		return uint64(w.buf[w.pos-1])
	}
	if w.pos+1 < len(w.buf) && w.buf[w.pos+1] < 0x80 { // the length of a span
		w.pos += 2
		return uint64(w.buf[w.pos-2]&0x7f) | uint64(w.buf[w.pos-1])<<7
	}
	v, n := binary.Uvarint(w.buf[w.pos:])
	switch {
	case n == 0:
		w.err = errWireEnd
	case n < 0:
		w.err = errVarint
	default:
		w.pos += n
		return v
	}
	return 0
}

// is notes an error unless the current field has the wire type.
func (w *wire) is(typ byte) bool {
	if w.err == nil && w.typ != typ {
		w.err = errFieldFit
	}
	return w.err == nil
}

// uint reads the current field as a varint.
func (w *wire) uint() uint64 {
	if !w.is(wireVarint) {
		return 0
	}
	return w.varint()
}

// fixed64 reads the current field as 8 bytes.
func (w *wire) fixed64() uint64 {
	if !w.is(wireI64) || !w.has(8) {
		return 0
	}
	w.pos += 8
	return binary.LittleEndian.Uint64(w.buf[w.pos-8:])
}

// fixed32 reads the current field as 4 bytes.
func (w *wire) fixed32() uint32 {
	if !w.is(wireI32) || !w.has(4) {
		return 0
	}
	w.pos += 4
	return binary.LittleEndian.Uint32(w.buf[w.pos-4:])
}

// bytes reads the current field as bytes, which alias the message.
func (w *wire) bytes() []byte {
	if !w.is(wireBytes) {
		return nil
	}
	n := w.varint()
	if w.err != nil {
		return nil
	}
	if n > uint64(len(w.buf)-w.pos) {
		w.err = errWireEnd
		return nil
	}
	w.pos += int(n)
	return w.buf[w.pos-int(n) : w.pos]
}

// message reads the current field as a message.
func (w *wire) message() wire { return wire{buf: w.bytes(), err: w.err} }

// skip passes over the current field.
func (w *wire) skip() {
	switch w.typ {
	case wireVarint:
		w.varint()
	case wireI64:
		w.fixed64()
	case wireBytes:
		w.bytes()
	case wireI32:
		w.fixed32()
	case wireStart:
		w.skipGroup()
	default:
		w.err = errWireType
	}
}

// element returns the element of a group's list that stands next, if its length is written
// in one or two bytes, nil otherwise.
func (w *wire) element() []byte {
	const tag = fieldGroupList<<3 | wireBytes
	b := w.buf[w.pos:]
	if w.err != nil || len(b) < 3 || b[0] != tag {
		return nil
	}
	start, end := 2, 2+int(b[1])
	if b[1] >= 0x80 {
		start, end = 3, 3+int(b[1]&0x7f)+int(b[2])<<7
	}
	if end > len(b) || start == 3 && b[2] >= 0x80 {
		return nil
	}
	w.pos += end
	return b[start:end]
}

// passList passes over the elements of a list that stand next: pdata writes the header of
// a group behind its list.
func (w *wire) passList() {
	for w.element() != nil {
	}
}

// skipGroup passes over a group and the groups in it.
func (w *wire) skipGroup() {
	const maxOpen = 64
	open := []int{w.field}
	for len(open) > 0 {
		if !w.next() {
			if w.err == nil {
				w.err = errWireEnd
			}
			return
		}
		switch {
		case w.typ == wireStart && len(open) < maxOpen:
			open = append(open, w.field)
		case w.typ == wireEnd && w.field == open[len(open)-1]:
			open = open[:len(open)-1]
		case w.typ == wireStart || w.typ == wireEnd:
			w.err = errWireType
			return
		default:
			w.skip()
		}
	}
}

func (w *wire) has(n int) bool {
	if w.err == nil && len(w.buf)-w.pos < n {
		w.err = errWireEnd
	}
	return w.err == nil
}

// join keeps the error of a message within this one.
func (w *wire) join(inner *wire) {
	if w.err == nil {
		w.err = inner.err
	}
}
