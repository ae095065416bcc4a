// Package recall remembers what parts of a text were decoded to, so that a part
// that comes again is compared instead of decoded.
package recall

import (
	"hash/maphash"
	"unsafe"
)

// The bounds of a Table.
const (
	maxTexts   = 1 << 15
	maxBytes   = 16 << 20 // of texts
	maxHints   = 1 << 12
	maxText    = 4 << 10 // longer texts hardly repeat
	firstSlots = 1 << 10
	ways       = 4 // slots that a text may lie in
)

// Table maps texts to what they were decoded to. A text is found at the start of
// what follows, without knowing where it ends: that takes a hash over as many
// bytes as the shortest text of the same kind has, and a comparison. So a text
// must be one that tells its own end, such as a JSON array.
//
// A hit costs about a tenth of a nanosecond per byte, beside two cache misses.
// Texts that do not repeat are not remembered: the first time leaves only a
// hash behind, and where few texts are found the Table rests for a while.
//
// The zero value is ready to use. It is not safe for concurrent use.
type Table[V any] struct {
	seed   maphash.Seed
	slots  []slot[V] // a power of two of them
	used   int
	bytes  int
	hints  map[string]*hint
	recent [128]*hint
	// seen holds hashes of texts that came once.
	seen  []uint32
	pause rest
}

// slot holds a text and its value. Texts lie in one of the slots from the one
// that the hash tells on.
type slot[V any] struct {
	hash  uint64
	text  string
	value *V
}

// hint is what is known of the texts of a kind.
type hint struct {
	name     string
	shortest int
}

// Find returns the value of the text that b starts with, and its length; nil
// where there is none. kind is a string that comes with texts of similar
// length, such as the name of the span: texts are found with the kind that they
// were added with.
func (t *Table[V]) Find(kind string, b []byte) (value *V, size int) {
	if t.pause.resting() {
		return nil, 0
	}
	h := t.hint(kind)
	if h == nil || h.shortest > len(b) {
		return nil, 0
	}
	hash := maphash.Bytes(t.seed, b[:h.shortest])
	for i := range uint64(ways) {
		s := &t.slots[(hash+i)&uint64(len(t.slots)-1)]
		if s.hash == hash && s.value != nil && len(s.text) <= len(b) && s.text == string(b[:len(s.text)]) {
			t.pause.hits++
			return s.value, len(s.text)
		}
	}
	return nil, 0
}

// Wants reports whether text, which Find did not know, is worth remembering: it
// has come before.
func (t *Table[V]) Wants(text []byte) bool {
	if t.pause.rests > 0 || len(text) > maxText || len(text) == 0 {
		return false
	}
	if t.seen == nil {
		t.seed = maphash.MakeSeed()
		t.seen = make([]uint32, 1<<16)
	}
	hash := maphash.Bytes(t.seed, text)
	seen := &t.seen[hash%uint64(len(t.seen))]
	if *seen == uint32(hash>>32) {
		return true
	}
	*seen = uint32(hash >> 32)
	return false
}

// Add remembers the value of a text.
func (t *Table[V]) Add(kind string, text []byte, value *V) {
	if t.used >= maxTexts || t.bytes+len(text) > maxBytes {
		t.slots, t.used, t.bytes = nil, 0, 0
	}
	h := t.hint(kind)
	if h == nil {
		h = t.addHint(kind, len(text))
	}
	// Texts added before, under a longer prefix, are added anew when they come.
	h.shortest = min(h.shortest, len(text))
	t.insert(slot[V]{hash: maphash.Bytes(t.seed, text[:h.shortest]), text: string(text), value: value})
}

// insert puts s into one of its slots, with more of them where all are taken.
func (t *Table[V]) insert(s slot[V]) {
	if t.slots == nil {
		t.slots = make([]slot[V], firstSlots)
	}
	for {
		for i := range uint64(ways) {
			at := &t.slots[(s.hash+i)&uint64(len(t.slots)-1)]
			if at.value == nil {
				*at = s
				t.used++
				t.bytes += len(s.text)
				return
			}
		}
		if len(t.slots) >= 4*maxTexts || t.used < len(t.slots)/8 {
			// Many texts with one beginning: the oldest makes room.
			at := &t.slots[s.hash&uint64(len(t.slots)-1)]
			t.bytes += len(s.text) - len(at.text)
			*at = s
			return
		}
		t.grow()
	}
}

// grow doubles the number of slots.
func (t *Table[V]) grow() {
	old := t.slots
	t.slots, t.used, t.bytes = make([]slot[V], 2*len(old)), 0, 0
	for _, s := range old {
		if s.value != nil {
			t.insert(s)
		}
	}
}

// hint returns what is known of a kind, nil where that is nothing. Readers
// intern strings, so that the address of its bytes tells the place of a kind in
// the cache in front of the map.
func (t *Table[V]) hint(kind string) *hint {
	at := &t.recent[uintptr(unsafe.Pointer(unsafe.StringData(kind)))*0x9e3779b97f4a7c15>>(64-7)]
	if h := *at; h != nil && h.name == kind {
		return h
	}
	h := t.hints[kind]
	if h != nil {
		*at = h
	}
	return h
}

func (t *Table[V]) addHint(kind string, shortest int) *hint {
	if t.hints == nil || len(t.hints) >= maxHints {
		t.hints = make(map[string]*hint)
		clear(t.recent[:])
	}
	h := &hint{name: kind, shortest: shortest}
	t.hints[kind] = h
	return h
}
