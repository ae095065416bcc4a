// Package packed holds tables of integers in few bytes. Rows are packed in blocks,
// each column of a block by itself: as distances from the smallest value, or as
// numbers of the distinct values where these are few, in as many bits as the
// largest one takes. A column whose values are all equal takes none.
//
// Rows are changed all at once, by Update, or not at all.
package packed

import (
	"encoding/binary"
	"unsafe"
)

// BlockRows is how many rows are packed together.
const (
	blockBits = 10
	BlockRows = 1 << blockBits
)

// Table is a number of rows with as many values each. Make one with New.
type Table struct {
	columns int
	blocks  []*block // nil where a block was dropped
	open    []int64  // the columns of the rows behind those of the blocks, each with room for a block
	rows    int      // of those
	buffer  []byte
	numbers *distinct
	waits   []uint8  // for each column, for how many blocks distinct values are not looked for
	spare   [][]byte // the data of dropped blocks
	size    int64    // of the data of blocks that were not dropped
}

// New returns an empty table with the given number of columns.
func New(columns int) Table { return Table{columns: columns} }

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.blocks)*BlockRows + t.rows }

// Append adds a row, which has a value for each column.
func (t *Table) Append(row []int64) {
	t.makeOpen()
	for c, v := range row {
		t.open[c*BlockRows+t.rows] = v
	}
	t.rows++
	t.Close()
}

// Extend adds up to n rows, at least one, whose values are 0 and may be set by Last until
// Close is called. It returns how many: as many as one block has room for.
func (t *Table) Extend(n int) int {
	t.makeOpen()
	n = min(n, BlockRows-t.rows)
	t.rows += n
	for c := range t.columns {
		clear(t.Last(n, c))
	}
	return n
}

// Last returns the values of a column in the last n rows, which Extend has added.
func (t *Table) Last(n, column int) []int64 {
	end := column*BlockRows + t.rows
	return t.open[end-n : end : end]
}

// Close packs the rows that are open once they fill a block.
func (t *Table) Close() {
	if t.rows == BlockRows {
		t.pack()
	}
}

func (t *Table) makeOpen() {
	if t.open == nil {
		t.open = make([]int64, t.columns*BlockRows)
	}
}

// column returns the values of a column in the rows that are open.
func (t *Table) column(c int) []int64 { return t.open[c*BlockRows:][:t.rows] }

// Bytes returns about how much memory the rows take.
func (t *Table) Bytes() int64 {
	return t.size + int64(len(t.blocks))*int64(unsafe.Sizeof(block{})+uintptr(t.columns)*unsafe.Sizeof(layout{})) +
		int64(cap(t.open))*int64(unsafe.Sizeof(int64(0)))
}

// pack makes a block of the rows that are open.
func (t *Table) pack() {
	t.blocks = append(t.blocks, t.newBlock(t.open))
	t.rows = 0
}

// newBlock makes a block of columns that have all of its rows.
func (t *Table) newBlock(columns []int64) *block {
	b := &block{columns: make([]layout, t.columns)}
	t.buffer = t.buffer[:0]
	if t.numbers == nil {
		t.numbers, t.waits = new(distinct), make([]uint8, t.columns)
	}
	for c := range b.columns {
		t.buffer = b.columns[c].append(t.buffer, (*[BlockRows]int64)(columns[c*BlockRows:]), t.numbers, &t.waits[c])
	}
	t.buffer = append(t.buffer, make([]byte, padding)...)
	b.data = append(t.spareData(), t.buffer...)
	t.size += int64(cap(b.data))
	return b
}

// Update calls change for the rows of each block, of which it is told the first and given a
// function that returns the values of a column. What change sets them to is kept.
func (t *Table) Update(change func(first int32, column func(c int) []int64)) {
	rows := make([]int64, t.columns*BlockRows)
	column := func(c int) []int64 { return rows[c*BlockRows : (c+1)*BlockRows] }
	for n, b := range t.blocks {
		for c := range t.columns {
			b.read(column(c), 0, c)
		}
		change(int32(n*BlockRows), column)
		t.size -= int64(cap(b.data))
		t.blocks[n] = t.newBlock(rows)
	}
	if t.rows > 0 {
		change(int32(len(t.blocks)*BlockRows), t.column)
	}
}

// Join appends the rows of other, which must not be used any more, to those of t, which
// fill their blocks.
func (t *Table) Join(other *Table) {
	if t.rows > 0 {
		panic("packed: the last block is not full")
	}
	t.blocks = append(t.blocks, other.blocks...)
	t.open, t.rows = other.open, other.rows
	t.size += other.size
}

// spareData returns memory for what is in the buffer, which the caller may append.
func (t *Table) spareData() []byte {
	if n := len(t.spare); n > 0 {
		data := t.spare[n-1]
		t.spare = t.spare[:n-1]
		if cap(data) >= len(t.buffer) {
			return data[:0]
		}
	}
	return nil
}

// At returns the value of a column in a row.
func (t *Table) At(row int32, column int) int64 {
	number, at := int(row>>blockBits), uint(row&(BlockRows-1))
	if number >= len(t.blocks) {
		return t.open[column*BlockRows+int(at)]
	}
	b := t.blocks[number]
	l := &b.columns[column]
	bit := at * uint(l.bits)
	from := uint(l.at) + bit>>3
	v := word(b.data, from) >> (bit & 7) & l.mask
	if l.values != 0 {
		bit = uint(v) * uint(l.valueBits)
		v = word(b.data, uint(l.values)+bit>>3) >> (bit & 7) & l.valueMask()
	}
	return l.base + int64(v)
}

// Gather sets dst to the values of a column in rows, of which there are as many. It is
// fastest where rows that follow each other lie in one block.
func (t *Table) Gather(dst []int64, rows []int32, column int) {
	for len(rows) > 0 {
		number := rows[0] >> blockBits
		n := 1
		for n < len(rows) && rows[n]>>blockBits == number {
			n++
		}
		if int(number) < len(t.blocks) {
			t.blocks[number].gather(dst[:n], rows[:n], column)
		} else {
			open := t.column(column)
			for i, r := range rows[:n] {
				dst[i] = open[r&(BlockRows-1)]
			}
		}
		dst, rows = dst[n:], rows[n:]
	}
}

// AppendRow appends the values of a row to dst.
func (t *Table) AppendRow(dst []int64, row int32) []int64 {
	for c := range t.columns {
		dst = append(dst, t.At(row, c))
	}
	return dst
}

// Blocks returns the number of blocks, the last of which may have fewer rows than
// the others.
func (t *Table) Blocks() int { return (t.Rows() + BlockRows - 1) / BlockRows }

// Read sets dst to the values of a column in rows of block b, the first of which is given.
func (t *Table) Read(dst []int64, b, first, column int) {
	if b == len(t.blocks) {
		copy(dst, t.column(column)[first:])
		return
	}
	t.blocks[b].read(dst, first, column)
}

// Drop frees block b of t, whose rows must not be asked for any more, for rows that are
// appended to other.
func (t *Table) Drop(b int, other *Table) {
	if b < len(t.blocks) {
		t.size -= int64(cap(t.blocks[b].data))
		other.spare = append(other.spare, t.blocks[b].data)
		t.blocks[b] = nil
	}
}

// Clip frees the memory that is kept for further rows.
func (t *Table) Clip() { t.spare, t.buffer, t.numbers = nil, nil, nil }

// block holds packed rows.
type block struct {
	data    []byte
	columns []layout
}

// padding is behind the data, so that eight bytes can be read from each of them on.
const padding = 8

// layout says how a column of a block is packed.
type layout struct {
	base      int64  // added to what is packed
	mask      uint64 // of the bits of a row
	at        int32  // where the column begins in the data
	values    int32  // where the distinct values begin, which are numbered; 0 for none
	bits      uint8  // of each row
	valueBits uint8  // of each distinct value
}

// valueMask is of the bits of a distinct value.
func (l *layout) valueMask() uint64 { return 1<<l.valueBits - 1 }

// word returns the eight bytes from a place on.
func word(data []byte, at uint) uint64 { return binary.LittleEndian.Uint64(data[at : at+8 : at+8]) }

// read sets dst to the values of a column, from a row on.
func (b *block) read(dst []int64, row, column int) {
	l := &b.columns[column]
	size, mask, base := uint(l.bits), l.mask, l.base
	if size == 0 {
		for i := range dst {
			dst[i] = base
		}
		return
	}
	data := b.data[l.at:]
	bit := uint(row) * size
	if l.values != 0 {
		values, valueBits, valueMask := b.data[l.values:], uint(l.valueBits), l.valueMask()
		for i := range dst {
			at := uint(word(data, bit>>3)>>(bit&7)&mask) * valueBits
			dst[i] = base + int64(word(values, at>>3)>>(at&7)&valueMask)
			bit += size
		}
		return
	}
	for i := range dst {
		dst[i] = base + int64(word(data, bit>>3)>>(bit&7)&mask)
		bit += size
	}
}

// gather sets dst to the values of a column in rows of the block, of which there are as
// many.
func (b *block) gather(dst []int64, rows []int32, column int) {
	l := &b.columns[column]
	size, mask, base := uint(l.bits), l.mask, l.base
	if size == 0 {
		for i := range dst {
			dst[i] = base
		}
		return
	}
	data := b.data[l.at:]
	if l.values != 0 {
		values, valueBits, valueMask := b.data[l.values:], uint(l.valueBits), l.valueMask()
		for i, r := range rows[:len(dst)] {
			bit := uint(r&(BlockRows-1)) * size
			at := uint(word(data, bit>>3)>>(bit&7)&mask) * valueBits
			dst[i] = base + int64(word(values, at>>3)>>(at&7)&valueMask)
		}
		return
	}
	for i, r := range rows[:len(dst)] {
		bit := uint(r&(BlockRows-1)) * size
		dst[i] = base + int64(word(data, bit>>3)>>(bit&7)&mask)
	}
}
