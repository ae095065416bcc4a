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

// places16 sets places from indexes of 16 bits, and returns the highest.
func places16(places []uint32, data []byte) (highest uint32) {
	for len(places) >= 4 && len(data) >= 8 {
		four := binary.LittleEndian.Uint64(data)
		p := (*[4]uint32)(places)
		p[0], p[1] = uint32(uint16(four))+1, uint32(uint16(four>>16))+1
		p[2], p[3] = uint32(uint16(four>>32))+1, uint32(four>>48)+1
		highest = max(highest, p[0], p[1], p[2], p[3])
		places, data = places[4:], data[8:]
	}
	for i := range places {
		places[i] = uint32(binary.LittleEndian.Uint16(data[2*i:])) + 1
		highest = max(highest, places[i])
	}
	return highest
}

// places8 is places16 for indexes of 8 bits.
func places8(places []uint32, data []byte) (highest uint32) {
	for i, index := range data[:len(places)] {
		places[i] = uint32(index) + 1
		highest = max(highest, places[i])
	}
	return highest
}

// places16 sets the places of the meanings of indexes of 16 bits, and returns the highest,
// or a higher one: nulls have indexes too.
func (a *array) places16(places []uint32, first int) (highest uint32) {
	highest = places16(places, a.data[2*first:])
	if a.valid == nil {
		return highest
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
				chunk[i] = uint32(binary.LittleEndian.Uint16(a.data[2*(first+at+i):])) + 1
			}
		default:
			for null := all &^ present; null != 0; null &= null - 1 {
				chunk[bits.TrailingZeros64(null)] = 0
			}
		}
	}
	return highest
}

// place returns the place of the meaning of an index.
func (a *array) place(i int) uint32 {
	const beyond = mixed - 1
	return uint32(min(uint64(a.index(i)), beyond)) + 1
}

// places sets the places of the meanings of indexes, of which there are n with that
// of null. Those that are not needed may become any.
func (a *array) places(places []uint32, first int, present, needed uint64, n int) error {
	highest := uint32(0)
	if width := a.field.Dictionary.Index.Bits; present == needed && width <= 16 {
		if width == 16 {
			highest = places16(places, a.data[2*first:])
		} else {
			highest = places8(places, a.data[first:])
		}
		if highest < uint32(n) {
			return nil
		}
		highest = 0 // it may be one that is not needed
	}
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
