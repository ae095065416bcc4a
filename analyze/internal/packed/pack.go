package packed

import (
	"encoding/binary"
	"math/bits"
)

// maxDistinct is up to how many distinct values of a block are numbered.
const maxDistinct = 256

// append appends the packed values to dst, which becomes the data of a block, and
// sets l to how they are packed.
func (l *layout) append(dst []byte, values *[BlockRows]int64) []byte {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	*l = layout{base: least, at: int32(len(dst)), bits: width(uint64(most) - uint64(least))}
	l.mask = 1<<l.bits - 1
	if l.bits > 8 {
		var d distinct
		if d.find(values) {
			size := width(uint64(d.n - 1))
			if BlockRows/8*int(size)+8*d.n < BlockRows/8*int(l.bits) {
				l.base, l.bits, l.mask = 0, size, 1<<size-1
				dst = appendBits(dst, &d.numbers, 0, size)
				l.values = int32(len(dst))
				for _, v := range d.values[:d.n] {
					dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
				}
				return dst
			}
		}
	}
	return appendBits(dst, values, least, l.bits)
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
func appendBits(dst []byte, values *[BlockRows]int64, base int64, size uint8) []byte {
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
	return dst // BlockRows values fill whole words
}

// distinct numbers the distinct values of a column: a hash table with open addressing.
type distinct struct {
	n       int
	values  [maxDistinct]int64
	numbers [BlockRows]int64
	slots   [2 * maxDistinct]uint16 // 1 more than a number; 0 is free
}

// find numbers the values, and reports whether they are few enough.
func (d *distinct) find(values *[BlockRows]int64) bool {
	const slotBits = 9
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			d.numbers[i] = d.numbers[i-1]
			continue
		}
		at := uint64(v) * 0x9e3779b97f4a7c15 >> (64 - slotBits)
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
