package parquet

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// keyTable finds numbers by keys, which are lists of words. It is a hash table that keeps
// its keys together.
type keyTable struct {
	seed  uint64
	slots []keySlot // the size is a power of two
	n     int
	keys  []uint64 // all of them, one after the other
}

// keySlot is the place of a key, or of none where the hash is 0.
type keySlot struct {
	hash   uint64
	from   int // in keys
	size   uint32
	number uint32
}

// clear removes all keys.
func (t *keyTable) clear() {
	clear(t.slots)
	t.n, t.keys = 0, t.keys[:0]
}

// size returns about how many bytes the table holds.
func (t *keyTable) size() int { return 8*len(t.keys) + bytesPerValue*t.n }

// find returns the number of a key, which is good until the next call. A key that was not
// found is added with the number 0.
func (t *keyTable) find(key []uint64) (number *uint32, found bool) {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	hash := t.hash(key)
	at := t.slot(hash)
	for ; t.slots[at].hash != 0; at = (at + 1) & (len(t.slots) - 1) {
		if s := &t.slots[at]; s.hash == hash && slices.Equal(t.keys[s.from:s.from+int(s.size)], key) {
			return &s.number, true
		}
	}
	t.slots[at] = keySlot{hash: hash, from: len(t.keys), size: uint32(len(key))}
	t.keys = append(t.keys, key...)
	t.n++
	return &t.slots[at].number, false
}

// hash returns a number that is not 0. Nobody can tell which keys have the same one.
func (t *keyTable) hash(key []uint64) uint64 {
	h := t.seed
	for _, word := range key {
		high, low := bits.Mul64(h^word, 0x9e3779b97f4a7c15)
		h = high ^ low
	}
	return h | 1<<63
}

func (t *keyTable) slot(hash uint64) int { return int(hash) & (len(t.slots) - 1) }

// grow doubles the slots.
func (t *keyTable) grow() {
	if len(t.slots) == 0 {
		t.seed = rand.Uint64()
	}
	old := t.slots
	t.slots = make([]keySlot, max(64, 2*len(old)))
	for _, s := range old {
		if s.hash == 0 {
			continue
		}
		at := t.slot(s.hash)
		for t.slots[at].hash != 0 {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = s
	}
}
