package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// codes sets the places of indexes, of whose meanings there are n with that of null. It
// returns the place that all have, or mixed.
func (a *array) codes(places []uint32, first int, present, needed uint64, n int) (same uint32, err error) {
	same = a.same(first, len(places), present, needed)
	if same == mixed {
		return mixed, a.places(places, first, present, needed, n)
	}
	if int64(same) >= int64(n) {
		return mixed, a.badIndex(same, n)
	}
	for i := range places {
		places[i] = same
	}
	return same, nil
}

// notNull tells which of n values are not null, n being at most 64 and first a
// multiple of it.
func (a *array) notNull(first, n int) uint64 {
	all := uint64(math.MaxUint64) >> (64 - n)
	switch {
	case a.allNull():
		return 0
	case a.valid == nil:
		return all
	}
	if at := first / 8; at+8 <= len(a.valid) {
		return binary.LittleEndian.Uint64(a.valid[at:]) & all
	}
	var word [8]byte
	copy(word[:], a.valid[first/8:])
	return binary.LittleEndian.Uint64(word[:]) & all
}

// same returns the place of the meaning that all values which are needed have, mixed
// where they differ.
func (a *array) same(first, n int, present, needed uint64) uint32 {
	switch {
	case present == 0:
		return 0
	case present != needed || a.dictionary == nil || a.field.Dictionary.Index.Bits > 16:
		return mixed
	}
	// Equal to itself, moved by one index.
	width := a.field.Dictionary.Index.Bits / 8
	data := a.data[width*first : width*(first+n)]
	last := len(data) - width
	if data[0] != data[last] || !bytes.Equal(data[width:], data[:last]) {
		return mixed
	}
	return a.place(first)
}

func (a *array) badIndex(place uint32, n int) error {
	return fmt.Errorf("index %d in a dictionary of %d values", place-1, n-1)
}

// places16 sets places from indexes of 16 bits, and reports whether all are among n values.
func places16(places []uint32, data []byte, n int) bool {
	// Added to an index of 15 bits, rest has bit 15 where that is n or more.
	const four, high = 0x0001000100010001, 0x8000
	if n > high {
		return false
	}
	rest := uint64(high-n) * four
	beyond := uint64(0)
	data = data[:2*len(places)]
	at := 0
	for ; at+8 <= len(places); at += 8 {
		p, d := places[at:at+8], data[2*at:2*at+16]
		a, b := binary.LittleEndian.Uint64(d[:8]), binary.LittleEndian.Uint64(d[8:])
		beyond |= a | b | (a&^(high*four) + rest) | (b&^(high*four) + rest)
		p[0], p[1] = uint32(uint16(a))+1, uint32(uint16(a>>16))+1
		p[2], p[3] = uint32(uint16(a>>32))+1, uint32(a>>48)+1
		p[4], p[5] = uint32(uint16(b))+1, uint32(uint16(b>>16))+1
		p[6], p[7] = uint32(uint16(b>>32))+1, uint32(b>>48)+1
	}
	for ; at < len(places); at++ {
		index := binary.LittleEndian.Uint16(data[2*at:])
		beyond |= uint64(index) | (uint64(index&^high) + rest&0xffff)
		places[at] = uint32(index) + 1
	}
	return beyond&(high*four) == 0
}

// places8 is places16 for indexes of 8 bits.
func places8(places []uint32, data []byte, n int) bool {
	highest := byte(0)
	data = data[:len(places)]
	for i := range places {
		index := data[i]
		places[i] = uint32(index) + 1
		highest = max(highest, index)
	}
	return int(highest) < n
}

// hasShortIndexes reports whether values are indexes of 8 or 16 bits.
func (a *array) hasShortIndexes() bool {
	return a.dictionary != nil && a.field.Dictionary.Index.Bits <= 16
}

// shortPlaces sets the places of the meanings of indexes of 8 or 16 bits, and reports
// whether all of them are among n values. Where that is false they may be all the same: a
// null has an index too.
func (a *array) shortPlaces(places []uint32, first, n int) bool {
	ok := false
	switch index := a.field.Dictionary.Index; {
	case index.Bits == 16:
		ok = places16(places, a.data[2*first:], n)
	case index.Signed:
		ok = places8(places, a.data[first:], min(n, math.MaxInt8+1))
	default:
		ok = places8(places, a.data[first:], n)
	}
	if !ok {
		return false
	}
	if a.valid == nil {
		return true
	}
	for at := 0; at < len(places); at += chunkRows {
		n := min(chunkRows, len(places)-at)
		all := uint64(math.MaxUint64) >> (chunkRows - n)
		present := a.notNull(first+at, n)
		switch chunk := places[at : at+n]; {
		case present == all:
		case bits.OnesCount64(present) <= chunkRows/4:
			clear(chunk)
			for ; present != 0; present &= present - 1 {
				i := bits.TrailingZeros64(present)
				chunk[i] = a.place(first + at + i)
			}
		default:
			for null := all &^ present; null != 0; null &= null - 1 {
				chunk[bits.TrailingZeros64(null)] = 0
			}
		}
	}
	return true
}

// place returns the place of the meaning of an index.
func (a *array) place(i int) uint32 {
	const beyond = mixed - 1
	return uint32(min(uint64(a.index(i)), beyond)) + 1
}

// places sets the places of the meanings of indexes, of which there are n with that
// of null. Those that are not needed may become any.
func (a *array) places(places []uint32, first int, present, needed uint64, n int) error {
	if present == needed && a.hasShortIndexes() && a.shortPlaces(places, first, n-1) {
		return nil
	}
	highest := uint32(0) // not of those that are not needed
	for i := range places {
		if places[i] = 0; present>>i&1 != 0 {
			places[i] = a.place(first + i)
		}
		highest = max(highest, places[i])
	}
	if int64(highest) >= int64(n) {
		return a.badIndex(highest, n)
	}
	return nil
}
