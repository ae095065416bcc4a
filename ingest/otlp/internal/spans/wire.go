package spans

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
)

// The wire types of protobuf.
const (
	WireVarint = 0
	WireI64    = 1
	WireBytes  = 2
	WireStart  = 3 // of a group, which proto3 does not have
	WireEnd    = 4
	WireI32    = 5
)

// What may be wrong with a message.
var (
	ErrEnd      = errors.New("unexpected end of protobuf message")
	ErrVarint   = errors.New("varint longer than 64 bits")
	ErrWireType = errors.New("invalid protobuf wire type")

	errField    = errors.New("invalid protobuf field number")
	errFieldFit = errors.New("protobuf field of an unexpected wire type")
)

// wire reads the fields of one message in protobuf, as [message] says. The first error is
// kept, and from then on every call returns zero values.
type wire struct {
	buf []byte
	pos int
	err error

	// field and typ are the number and the wire type of the current field.
	field  int
	typ    byte
	groups int // that are open
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
		w.err = ErrEnd
	case n < 0:
		w.err = ErrVarint
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
	if !w.is(WireVarint) {
		return 0
	}
	return w.varint()
}

// fixed64 reads the current field as 8 bytes.
func (w *wire) fixed64() uint64 {
	if !w.is(WireI64) || !w.has(8) {
		return 0
	}
	w.pos += 8
	return binary.LittleEndian.Uint64(w.buf[w.pos-8:])
}

// fixed32 reads the current field as 4 bytes.
func (w *wire) fixed32() uint32 {
	if !w.is(WireI32) || !w.has(4) {
		return 0
	}
	w.pos += 4
	return binary.LittleEndian.Uint32(w.buf[w.pos-4:])
}

// bytes reads the current field as bytes, which alias the message.
func (w *wire) bytes() []byte {
	if !w.is(WireBytes) {
		return nil
	}
	n := w.varint()
	if w.err != nil {
		return nil
	}
	if n > uint64(len(w.buf)-w.pos) {
		w.err = ErrEnd
		return nil
	}
	w.pos += int(n)
	return w.buf[w.pos-int(n) : w.pos]
}

// skip passes over the current field.
func (w *wire) skip() {
	switch w.typ {
	case WireVarint:
		w.varint()
	case WireI64:
		w.fixed64()
	case WireBytes:
		w.bytes()
	case WireI32:
		w.fixed32()
	case WireStart:
		w.skipGroup()
	default:
		w.err = ErrWireType
	}
}

// listed returns the element of a group's list that stands next, if its length is written
// in one or two bytes, nil otherwise.
func (w *wire) listed() []byte {
	const tag = FieldList<<3 | WireBytes
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

// skipGroup passes over a group and the groups in it.
func (w *wire) skipGroup() {
	const maxOpen = 64
	if w.groups++; w.groups > maxOpen {
		w.err = ErrWireType
	}
	for group := w.field; w.next(); w.skip() {
		if w.typ == WireEnd && w.field == group {
			w.groups--
			return
		}
	}
	w.err = cmp.Or(w.err, ErrEnd)
}

func (w *wire) has(n int) bool {
	if w.err == nil && len(w.buf)-w.pos < n {
		w.err = ErrEnd
	}
	return w.err == nil
}

func (w *wire) reset(text []byte) { *w = wire{buf: text} }

func (w *wire) open() (outer int) {
	outer = len(w.buf)
	if w.field == 0 { // the message that w was made of
		return outer
	}
	if b := w.bytes(); w.err == nil {
		w.buf = w.buf[:w.pos]
		w.pos -= len(b)
	}
	return outer
}

func (w *wire) more(outer int, _ schema) bool {
	if w.next() {
		return true
	}
	w.buf = w.buf[:outer]
	return false
}

func (w *wire) number() int             { return w.field }
func (w *wire) failure() error          { return w.err }
func (w *wire) null() bool              { return false }
func (w *wire) element(first bool) bool { return first && w.err == nil }
func (w *wire) integer() (int64, bool)  { return int64(w.uint()), true }
func (w *wire) double() (float64, bool) { return math.Float64frombits(w.fixed64()), true }
func (w *wire) boolean() (v, ok bool)   { return w.uint() != 0, true }
func (w *wire) count() int64            { return int64(uint32(w.uint())) }
func (w *wire) flags() uint32           { return w.fixed32() }
func (w *wire) time() (uint64, bool)    { return w.fixed64(), true }
func (w *wire) enum(_ []string) int64   { return int64(w.uint()) }

func (w *wire) base64(dst []byte) (text []byte, ok bool) {
	return base64.StdEncoding.AppendEncode(dst, w.bytes()), true
}

func (w *wire) id(dst []byte) (ok bool) {
	b := w.bytes()
	if ok = len(b) == len(dst); ok {
		copy(dst, b)
	} else {
		clear(dst)
	}
	return ok || len(b) == 0
}

func (w *wire) key() (key []byte) {
	at := *w
	for at.skip(); at.next(); at.skip() {
		if at.field == fieldKey {
			return at.bytes()
		}
	}
	return nil
}
