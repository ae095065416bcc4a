package trace

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const blockRows = 1 << 10

// block holds up to blockRows rows column by column. A value takes as many bytes as the range of its column in the
// block needs, and none where all values are equal.
type block struct {
	flags   [blockRows]Flags
	columns [numColumns]column
	data    []byte
}

// column is where the values of a column are in the data of a block.
type column struct {
	base  int64  // the least value
	mask  uint64 // of a value less base
	at    uint32 // of the first value
	width uint32 // bytes of a value less base
}

// A value is read and written as a word. The last bytes of data are unused, so that each has room.
const wordBytes = 8

// size returns the memory of b in bytes.
func (b *block) size() int64 { return int64(unsafe.Sizeof(*b)) + int64(cap(b.data)) }

// columnFor returns the column at an offset for values.
func columnFor(values []int64, at int) column {
	low := values[0]
	high := low
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	width := uint32(bits.Len64(uint64(high-low))+7) / 8
	return column{base: low, mask: 1<<(8*width) - 1, at: uint32(at), width: width}
}

func (b *block) value(of int, i uint32) int64 {
	c := &b.columns[of]
	return c.base + int64(binary.LittleEndian.Uint64(b.data[c.at+i*c.width:])&c.mask)
}

// read copies the values of rows from i on.
func (b *block) read(of int, i uint32, to []int64) {
	for k := range to {
		to[k] = b.value(of, i+uint32(k))
	}
}

// write stores the values of all rows where the column points, and may write into the bytes behind them.
func (b *block) write(of int, values []int64) {
	c := b.columns[of]
	if c.width == 0 {
		return
	}
	at := b.data[c.at:]
	for _, v := range values {
		binary.LittleEndian.PutUint64(at, uint64(v-c.base))
		at = at[c.width:]
	}
}

// set changes the value of a row in a block of n rows.
func (b *block) set(of int, i uint32, v int64, n int) {
	c := &b.columns[of]
	if uint64(v-c.base) > c.mask {
		values := make([]int64, n)
		b.read(of, 0, values)
		b.replace(of, append(values, v), n)
	}
	word := b.data[c.at+i*c.width:]
	old := binary.LittleEndian.Uint64(word)
	binary.LittleEndian.PutUint64(word, old&^c.mask|uint64(v-c.base))
}

// replace moves a column to the end of the data, with room for the range of values, and stores the first n.
func (b *block) replace(of int, values []int64, n int) {
	end := len(b.data) - wordBytes
	b.columns[of] = columnFor(values, end)
	b.data = append(b.data, make([]byte, int(b.columns[of].width)*n)...)
	b.write(of, values[:n])
}

// openRows holds the rows behind the last block. A column is nil if all its values are 0.
type openRows struct {
	values [numColumns]*[blockRows]int64
	flags  [blockRows]Flags
}

// column returns the n rows of a column from row i on, for writing.
func (o *openRows) column(of int, i, n int32) []int64 {
	if o.values[of] == nil {
		o.values[of] = new([blockRows]int64)
	}
	return o.values[of][i : i+n]
}

// copy copies n rows of a block from index from on to index i.
func (o *openRows) copy(i int32, b *block, from, n int32) {
	for of := range b.columns {
		if b.columns[of] != (column{}) || o.values[of] != nil {
			b.read(of, uint32(from), o.column(of, i, n))
		}
	}
	copy(o.flags[i:i+n], b.flags[from:])
}

// size returns the memory of o in bytes.
func (o *openRows) size() int64 {
	if o == nil {
		return 0
	}
	n := int64(unsafe.Sizeof(*o))
	for _, values := range o.values {
		if values != nil {
			n += int64(unsafe.Sizeof(*values))
		}
	}
	return n
}

// pack returns the first n rows as a block and clears all rows.
func (o *openRows) pack(n int) *block {
	b := &block{flags: o.flags}
	size := 0
	for of, values := range o.values {
		if values != nil {
			b.columns[of] = columnFor(values[:n], size)
			size += int(b.columns[of].width) * n
		}
	}
	b.data = make([]byte, size+wordBytes)
	for of, values := range o.values {
		if values != nil {
			b.write(of, values[:n])
			clear(values[:n])
		}
	}
	clear(o.flags[:n])
	return b
}
