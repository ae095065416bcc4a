package packed

import (
	"encoding/binary"
	"math/bits"
)

// maxDistinct is up to how many distinct values of a block are numbered.
const (
	distinctBits = 9
	maxDistinct  = 1 << distinctBits
)

// retry is in which of so many blocks distinct values are looked for in a column that had
// too many.
const retry = 16

// append appends the packed values to dst, which becomes the data of a block, and
// sets l to how they are packed. wait is for how many blocks distinct values of the column
// are not looked for.
func (l *layout) append(dst []byte, values *[BlockRows]int64, d *distinct, wait *uint8) []byte {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	*l = layout{base: least, at: int32(len(dst)), bits: width(uint64(most) - uint64(least))}
	l.mask = 1<<l.bits - 1
	if l.bits > 8 && d.findUnless(wait, values) {
		size := width(uint64(d.n - 1))
		if BlockRows*int(size)+d.n*int(l.bits)+64 < BlockRows*int(l.bits) {
			l.valueBits, l.bits, l.mask = l.bits, size, 1<<size-1
			dst = appendBits(dst, d.numbers[:], 0, size)
			l.values = int32(len(dst))
			return appendBits(dst, d.values[:d.n], least, l.valueBits)
		}
	}
	return appendBits(dst, values[:], least, l.bits)
}

// width returns how many bits each of some numbers takes, the largest of which is
// most. A number begins at any bit of a byte and is read from eight bytes.
func width(most uint64) uint8 {
	n := bits.Len64(most)
	if n > 57 {
		return 64 // begins at the first bit
	}
	return uint8(n)
}

// appendBits appends the given number of bits of each value's distance from base.
func appendBits(dst []byte, values []int64, base int64, size uint8) []byte {
	if size == 0 {
		return dst
	}
	var word uint64
	used := uint8(0)
	for _, v := range values {
		d := uint64(v) - uint64(base)
		word |= d << used
		used += size
		if used >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			used -= 64
			word = d >> (size - used)
		}
	}
	for ; used > 0; used -= min(used, 8) {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// distinct numbers the distinct values of a column: a hash table with open addressing. Its
// memory is used again.
type distinct struct {
	n       int
	values  [maxDistinct]int64
	numbers [BlockRows]int64
	slots   [2 * maxDistinct]uint16 // 1 more than a number; 0 is free
}

// findUnless numbers the values, unless it is to wait, and reports whether they are few
// enough.
func (d *distinct) findUnless(wait *uint8, values *[BlockRows]int64) bool {
	if *wait > 0 {
		*wait--
		return false
	}
	found := d.find(values)
	if !found {
		*wait = retry - 1
	}
	return found
}

// find numbers the values, and reports whether they are few enough.
func (d *distinct) find(values *[BlockRows]int64) bool {
	d.n, d.slots = 0, [2 * maxDistinct]uint16{}
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			d.numbers[i] = d.numbers[i-1]
			continue
		}
		at := uint64(v) * 0x9e3779b97f4a7c15 >> (64 - distinctBits - 1)
		for d.slots[at] != 0 && d.values[d.slots[at]-1] != v {
			at = (at + 1) % uint64(len(d.slots))
		}
		if d.slots[at] == 0 {
			if d.n == maxDistinct {
				return false
			}
			d.values[d.n] = v
			d.n++
			d.slots[at] = uint16(d.n)
		}
		d.numbers[i] = int64(d.slots[at] - 1)
	}
	return true
}
