package arrowipc

import "encoding/binary"

// builder writes FlatBuffers from front to back: an object stands behind those
// that refer to it.
type builder struct{ buf []byte }

// object is something that a table or a vector refers to.
type object interface {
	// append appends the object and returns its place.
	append(b *builder) int
}

// slot is a field of a table: a number of 1, 2, 4 or 8 bytes, or an object. One
// without a size is absent.
type slot struct {
	size   int
	number uint64
	object object
}

// offsetSize is the size of a reference.
const offsetSize = 4

func num8(v uint8) slot      { return slot{size: 1, number: uint64(v)} }
func num16(v int16) slot     { return slot{size: 2, number: uint64(uint16(v))} }
func num32(v int32) slot     { return slot{size: 4, number: uint64(uint32(v))} }
func num64(v int64) slot     { return slot{size: 8, number: uint64(v)} }
func ref(o object) slot      { return slot{size: offsetSize, object: o} }
func flag(set bool) slot     { return num8(map[bool]uint8{true: 1}[set]) }
func (b *builder) size() int { return len(b.buf) }

// align pads up to a place that is a multiple of n once skip more bytes are there.
func (b *builder) align(n, skip int) {
	for (len(b.buf)+skip)%n != 0 {
		b.buf = append(b.buf, 0)
	}
}

func (b *builder) putOffset(at, target int) {
	binary.LittleEndian.PutUint32(b.buf[at:], uint32(target-at))
}

// finish returns a buffer whose root is the table.
func finish(root table) []byte {
	b := &builder{buf: make([]byte, offsetSize)}
	b.putOffset(0, root.append(b))
	b.align(alignment, 0)
	return b.buf
}

// table is a table with its fields in the order of the schema.
type table []slot

func (t table) append(b *builder) int {
	const vtableHead = 4 // sizes of the vtable and the table
	b.align(2, 0)
	vtable := b.size()
	b.buf = append(b.buf, make([]byte, vtableHead+2*len(t))...)
	b.align(offsetSize, 0)
	start := b.size()
	b.buf = append(b.buf, make([]byte, offsetSize)...)
	at := make([]int, len(t))
	for i, s := range t {
		if s.size == 0 {
			continue
		}
		b.align(s.size, 0)
		at[i] = b.size()
		b.buf = append(b.buf, binary.LittleEndian.AppendUint64(nil, s.number)[:s.size]...)
		binary.LittleEndian.PutUint16(b.buf[vtable+vtableHead+2*i:], uint16(at[i]-start))
	}
	binary.LittleEndian.PutUint16(b.buf[vtable:], uint16(vtableHead+2*len(t)))
	binary.LittleEndian.PutUint16(b.buf[vtable+2:], uint16(b.size()-start))
	binary.LittleEndian.PutUint32(b.buf[start:], uint32(start-vtable))
	for i, s := range t {
		if s.object != nil {
			b.putOffset(at[i], s.object.append(b))
		}
	}
	return start
}

// text is a string.
type text string

func (t text) append(b *builder) int {
	b.align(offsetSize, 0)
	at := b.size()
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(t)))
	b.buf = append(append(b.buf, t...), 0)
	return at
}

// tables is a vector of tables.
type tables []table

func (v tables) append(b *builder) int {
	b.align(offsetSize, 0)
	at := b.size()
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(v)))
	b.buf = append(b.buf, make([]byte, offsetSize*len(v))...)
	for i, t := range v {
		b.putOffset(at+offsetSize*(1+i), t.append(b))
	}
	return at
}

// pairs is a vector of structs of two integers of 64 bits each.
type pairs [][2]int64

func (v pairs) append(b *builder) int {
	b.align(alignment, offsetSize)
	at := b.size()
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(v)))
	for _, p := range v {
		b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(p[0]))
		b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(p[1]))
	}
	return at
}
