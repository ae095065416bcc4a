package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errMetadata is the error for metadata that are no FlatBuffers of Arrow's
// schema.
var errMetadata = errors.New("damaged metadata")

// view is a table in a buffer. Reading it never fails: what lies outside of the
// buffer is noted in bad, and absent.
type view struct {
	buf []byte
	pos int // of the table; 0 for none
	bad *bool
}

// root returns the root table of a buffer.
func root(buf []byte) view {
	v := view{buf: buf, bad: new(bool)}
	v.pos = v.follow(0)
	return v
}

func (v view) err() error {
	if *v.bad {
		return errMetadata
	}
	return nil
}

func (v view) exists() bool { return v.pos > 0 }

// has reports whether n bytes at pos lie in the buffer, and notes it if not.
func (v view) has(pos, n int) bool {
	if pos < 0 || n < 0 || pos > len(v.buf)-n {
		*v.bad = true
		return false
	}
	return true
}

// follow returns the place that the offset at pos leads to, 0 for none.
func (v view) follow(pos int) int {
	if !v.has(pos, offsetSize) {
		return 0
	}
	n := binary.LittleEndian.Uint32(v.buf[pos:])
	if uint64(n) > uint64(len(v.buf)) || !v.has(pos+int(n), offsetSize) {
		*v.bad = true
		return 0
	}
	return pos + int(n)
}

// field returns the place of the i-th field, which has size bytes; 0 where it is
// absent.
func (v view) field(i, size int) int {
	if v.pos == 0 || !v.has(v.pos, offsetSize) {
		return 0
	}
	vtable := v.pos - int(int32(binary.LittleEndian.Uint32(v.buf[v.pos:])))
	if !v.has(vtable, 4) {
		return 0
	}
	n := int(binary.LittleEndian.Uint16(v.buf[vtable:]))
	at := 4 + 2*i
	if at+2 > n || !v.has(vtable+at, 2) {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(v.buf[vtable+at:]))
	if offset == 0 || !v.has(v.pos+offset, size) {
		return 0
	}
	return v.pos + offset
}

// number returns an integer of size bytes, or the default.
func (v view) number(i, size int, def int64) int64 {
	at := v.field(i, size)
	if at == 0 {
		return def
	}
	switch b := v.buf[at:]; size {
	case 1:
		return int64(b[0])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

// table returns the table that a field refers to.
func (v view) table(i int) view {
	t := view{buf: v.buf, bad: v.bad}
	if at := v.field(i, offsetSize); at > 0 {
		t.pos = v.follow(at)
	}
	return t
}

// text returns a string.
func (v view) text(i int) string {
	elements, n := v.vector(i, 1)
	if n == 0 {
		return ""
	}
	return string(v.buf[elements : elements+n])
}

// vector returns the place and the number of the elements of size bytes each that
// a field refers to.
func (v view) vector(i, size int) (elements, n int) {
	at := v.field(i, offsetSize)
	if at == 0 {
		return 0, 0
	}
	at = v.follow(at)
	if at == 0 {
		return 0, 0
	}
	count := binary.LittleEndian.Uint32(v.buf[at:])
	if uint64(count)*uint64(size) > uint64(len(v.buf)) || !v.has(at+offsetSize, int(count)*size) {
		*v.bad = true
		return 0, 0
	}
	return at + offsetSize, int(count)
}

// tables returns the tables of a vector.
func (v view) tables(i, limit int) ([]view, error) {
	elements, n := v.vector(i, offsetSize)
	if n > limit {
		return nil, fmt.Errorf("%d elements where at most %d are read", n, limit)
	}
	list := make([]view, n)
	for k := range list {
		list[k] = view{buf: v.buf, pos: v.follow(elements + offsetSize*k), bad: v.bad}
	}
	return list, nil
}

// int64s returns the integers of a vector of structs, of size bytes each, that
// consist of integers of 64 bits.
func (v view) int64s(i, size int) []int64 {
	elements, n := v.vector(i, size)
	list := make([]int64, n*size/8)
	for k := range list {
		list[k] = int64(binary.LittleEndian.Uint64(v.buf[elements+8*k:]))
	}
	return list
}
