package arrowtable

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// idSet numbers ids in the order in which they come. Every operation may have a
// trace of its own, and this costs less than a map.
type idSet struct {
	ids []id
	// slots hold numbers and 1 more, at or after where the hash of the id leads.
	// There are at least twice as many as ids, a power of two.
	slots []uint16
}

// id is the id of a trace, or of a span in front of zeros.
type id [2]uint64

func newID(octets []byte) (v id) {
	v[0] = binary.BigEndian.Uint64(octets)
	if len(octets) > 8 {
		v[1] = binary.BigEndian.Uint64(octets[8:])
	}
	return v
}

// hashBy makes the hashes such that nobody can choose ids for theirs.
var hashBy = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}

// find returns the number of v, or that there is none and the slot where it goes.
func (s *idSet) find(v id) (number int16, slot int, ok bool) {
	if len(s.slots) == 0 {
		return 0, 0, false
	}
	hash := v[0]*hashBy[0] + v[1]*hashBy[1]
	slot = int(hash >> (64 - bits.Len(uint(len(s.slots)-1))))
	for ; s.slots[slot] > 0; slot = (slot + 1) & (len(s.slots) - 1) {
		if number = int16(s.slots[slot] - 1); s.ids[number] == v {
			return number, slot, true
		}
	}
	return 0, slot, false
}

// number returns the number of v, and whether it is new.
func (s *idSet) number(v id) (number int16, isNew bool) {
	number, slot, ok := s.find(v)
	if ok {
		return number, false
	}
	if 2*len(s.ids) >= len(s.slots) {
		s.grow()
		_, slot, _ = s.find(v)
	}
	s.ids = append(s.ids, v)
	s.slots[slot] = uint16(len(s.ids))
	return int16(len(s.ids) - 1), true
}

func (s *idSet) grow() {
	const first = 64
	s.slots = make([]uint16, max(first, 2*len(s.slots)))
	for i, v := range s.ids {
		_, slot, _ := s.find(v)
		s.slots[slot] = uint16(i + 1)
	}
}

func (s *idSet) reset() {
	s.ids = s.ids[:0]
	clear(s.slots)
}
