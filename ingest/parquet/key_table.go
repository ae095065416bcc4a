package parquet

import (
	"bytes"
	"hash/maphash"
)

// keyTable finds numbers by keys. It is a hash table that keeps its keys together.
type keyTable struct {
	seed  maphash.Seed
	slots []uint32 // places in list, and 1 more; the size is a power of two
	list  []keyEntry
	keys  []byte // of all entries
}

type keyEntry struct {
	hash     uint64
	from, to int // in keys
	number   uint32
}

// clear removes all keys.
func (t *keyTable) clear() {
	clear(t.slots)
	t.list, t.keys = t.list[:0], t.keys[:0]
}

// bytes returns about how much the table holds.
func (t *keyTable) size() int { return len(t.keys) + bytesPerValue*len(t.list) }

// find returns the number of a key, which is good until the next call. A key that was not
// found is added with the number 0.
func (t *keyTable) find(key []byte) (number *uint32, found bool) {
	if 2*len(t.list) >= len(t.slots) {
		t.grow()
	}
	hash := maphash.Bytes(t.seed, key)
	at := t.slot(hash)
	for ; t.slots[at] != 0; at = (at + 1) & (len(t.slots) - 1) {
		if e := &t.list[t.slots[at]-1]; e.hash == hash && bytes.Equal(t.keys[e.from:e.to], key) {
			return &e.number, true
		}
	}
	from := len(t.keys)
	t.keys = append(t.keys, key...)
	t.list = append(t.list, keyEntry{hash: hash, from: from, to: len(t.keys)})
	t.slots[at] = uint32(len(t.list))
	return &t.list[len(t.list)-1].number, false
}

func (t *keyTable) slot(hash uint64) int { return int(hash) & (len(t.slots) - 1) }

// grow doubles the slots.
func (t *keyTable) grow() {
	if len(t.slots) == 0 {
		t.seed = maphash.MakeSeed()
	}
	t.slots = make([]uint32, max(64, 2*len(t.slots)))
	for i, e := range t.list {
		at := t.slot(e.hash)
		for t.slots[at] != 0 {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = uint32(i + 1)
	}
}
