// Package recall remembers what parts of a text were decoded to, so that a part
// that comes again is compared instead of decoded.
package recall

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// The bounds of a Table.
const (
	maxTexts = 1 << 15
	maxBytes = 16 << 20 // of texts
	maxText  = 4 << 10  // longer texts hardly repeat
	atOnce   = maxTexts / 2

	firstBuckets = 1 << 7
	maxBuckets   = maxTexts / 4
	maxSeen      = 1 << 15 // buckets of hashes
)

// Table maps texts to what they were decoded to. Programs that run the same
// operations again run them in the same order: the text that came after the one
// before is expected first, which takes a comparison. Any other one is found by
// its hash. Texts in between that do not repeat make no difference to that.
//
// A text must be one that tells its own end, such as a JSON array: then what
// starts with it means the same.
//
// The first texts are remembered at once. Of others the first time leaves only a
// hash behind, so that texts that do not repeat cost little; and where few texts
// are found the Table rests for a while.
//
// The zero value is ready to use. It is not safe for concurrent use.
type Table[V any] struct {
	seed    maphash.Seed
	buckets []bucket // a power of two of them
	known   pool[V]
	// seen holds the upper halves of the hashes of texts that came once.
	seen  [][4]uint32
	pause rest

	// last is the index of the text found last, 0 for none, and guess tells
	// whether the text that came after it the last time is likely to come again.
	last  int32
	guess luck
}

// bucket tells where some texts are. It fills a cache line.
type bucket [8]struct {
	tag   uint32 // the upper half of the hash
	index int32  // into the pool, from 1; 0 for none
}

// Awake tells the Table that another text is going to be looked up, and reports
// whether that is worthwhile: while the Table rests, nothing is known nor wanted.
func (t *Table[V]) Awake() bool { return !t.pause.resting() }

// Expected returns the text that came after the one found last, the last time,
// and its value; nil where that is not known, or mostly wrong of late. A caller
// that finds it to be right says so with Right.
func (t *Table[V]) Expected() (value *V, text []byte) {
	if t.last == 0 {
		return nil, nil
	}
	next := t.known.at(t.last).next
	if next == 0 || !t.guess.worthwhile() {
		return nil, nil
	}
	e := t.known.at(next)
	return &e.value, e.text
}

// Right tells that the text that Expected returned stood there.
func (t *Table[V]) Right() {
	t.guess.hits++
	t.pause.hits++
	t.last = t.known.at(t.last).next
}

// Find returns the value of a text, nil where it is not known.
func (t *Table[V]) Find(text []byte) *V {
	if len(t.buckets) == 0 || len(text) > maxText {
		return nil
	}
	hash := maphash.Bytes(t.seed, text)
	places := &t.buckets[hash&uint64(len(t.buckets)-1)]
	for i := range places {
		if places[i].tag != uint32(hash>>32) || places[i].index == 0 {
			continue
		}
		if e := t.known.at(places[i].index); bytes.Equal(e.text, text) {
			t.pause.hits++
			t.follow(places[i].index)
			return &e.value
		}
	}
	return nil
}

// follow notes that the text of the index came after the last one that is known.
func (t *Table[V]) follow(index int32) {
	if t.last > 0 {
		t.known.at(t.last).next = index
	}
	t.last = index
}

// Wants reports whether text, which Find did not know, is worth remembering: there
// is much room, or it has come before.
func (t *Table[V]) Wants(text []byte) bool {
	if len(text) > maxText || len(text) == 0 {
		return false
	}
	if t.known.n < atOnce {
		return true
	}
	if t.seen == nil {
		t.seen = make([][4]uint32, maxSeen)
	}
	hash := maphash.Bytes(t.seed, text)
	seen, tag := &t.seen[hash%maxSeen], uint32(hash>>32)
	if slices.Contains(seen[:], tag) {
		return true
	}
	copy(seen[1:], seen[:])
	seen[0] = tag
	return false
}

// Add remembers the value of a text that Wants wants, and returns where it is
// kept, which may be changed. When the Table is full it starts anew.
func (t *Table[V]) Add(text []byte, value V) *V {
	if t.known.n >= maxTexts || t.known.bytes+len(text) > maxBytes {
		t.buckets, t.known, t.last = nil, pool[V]{}, 0
	}
	if t.seed == (maphash.Seed{}) {
		t.seed = maphash.MakeSeed()
	}
	hash := maphash.Bytes(t.seed, text)
	index := t.known.add(entry[V]{text: text, value: value, hash: hash})
	t.follow(index)
	switch full := !t.insert(hash, index); {
	case full && len(t.buckets) < maxBuckets:
		t.grow()
	case full: // one of eight makes room
		place := &t.buckets[hash&uint64(len(t.buckets)-1)][index&7]
		place.tag, place.index = uint32(hash>>32), index
	}
	return &t.known.at(index).value
}

// insert puts an index into its bucket and reports whether there was room.
func (t *Table[V]) insert(hash uint64, index int32) bool {
	if len(t.buckets) == 0 {
		return false
	}
	places := &t.buckets[hash&uint64(len(t.buckets)-1)]
	for i := range places {
		if places[i].index == 0 {
			places[i].tag, places[i].index = uint32(hash>>32), index
			return true
		}
	}
	return false
}

// grow doubles the number of buckets. What does not find room there is
// forgotten.
func (t *Table[V]) grow() {
	t.buckets = make([]bucket, max(firstBuckets, 2*len(t.buckets)))
	for i := int32(1); int(i) <= t.known.n; i++ {
		t.insert(t.known.at(i).hash, i)
	}
}
