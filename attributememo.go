package optrace

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// attributeMemo remembers what the attributes of spans were encoded to: programs
// run the same operations again and again, and comparing attributes costs a
// tenth of encoding them.
//
// Sets of attributes are first told apart by their memory: by the addresses of
// their texts and lists, not by what is there. Prepared operations and those of a
// Tracer, which keeps the values of shapes, have the same addresses every time.
// Memory that is equal holds equal attributes; other memory may do so too, and
// is then compared by its content. The iteration and the device are left out of
// the comparison, see looseAttributes.
//
// Where few sets come again the memo rests. It is used by one goroutine at a
// time.
type attributeMemo[V any] struct {
	// budget bounds the bytes that the memo takes; 0 turns it off.
	budget int

	seed  maphash.Seed
	slots []memoSlot[V] // a power of two of them
	used  int
	bytes int
	full  bool
	last  *memoSet[V] // found last

	// rest is about looking sets up by their memory.
	rest    restPolicy
	content attributeContent
	// missed holds hashes of the memory of sets that were found by their content.
	missed []uint32
	misses uint
}

// memoSlot holds a set in one of the slots from the one that its hash tells on.
type memoSlot[V any] struct {
	hash uint64
	set  *memoSet[V]
}

type memoSet[V any] struct {
	key   memoKey // with attributes of its own
	value V
	size  int
	next  *memoSet[V] // came next the last time
}

// memoKey is what a value is remembered for.
type memoKey struct {
	attrs []attribute.KeyValue
	loose looseAttributes
	// What else the value depends on; the zero values where that is nothing.
	name, scope string
	resource    *resource.Resource
	rooted      bool // the root is known, whatever attributes say
}

const (
	// maxMemoBytes is how much the memo of an encoder takes: 20,000 sets or so.
	maxMemoBytes = 16 << 20

	memoMissed     = 1 << 14
	memoWays       = 8
	memoFirstSlots = 256
	memoMaxSlots   = 1 << 16
	// memoOverhead is about what a set takes beside its attributes and its value.
	memoOverhead = 200
)

// find returns the value of a set, or nil and whether there is use in adding it.
func (m *attributeMemo[V]) find(k *memoKey) (value *V, worthAdding bool) {
	if m.budget == 0 || len(k.attrs) == 0 {
		return nil, false
	}
	rests, stale := m.rest.resting()
	if stale && !m.content.rest.useful {
		m.makeRoom()
	}
	if m.slots == nil {
		m.seed = maphash.MakeSeed()
		m.slots = make([]memoSlot[V], memoFirstSlots)
	}
	var hash uint64
	if !rests {
		var set *memoSet[V]
		if set, hash = m.lookUp(k); set != nil {
			m.rest.hit()
			return &set.value, false
		}
	}
	return m.findContent(k, hash)
}

// findContent is find for a set whose memory is not known. hash is that of its
// memory, 0 where that was not looked for.
func (m *attributeMemo[V]) findContent(k *memoKey, hash uint64) (value *V, worthAdding bool) {
	known, stale := m.content.known(k)
	if stale && !m.rest.useful {
		m.makeRoom()
		known = nil
	}
	if known == nil {
		return nil, !m.full && (hash != 0 || !m.content.rest.isResting())
	}
	set, _ := m.lookUp(known)
	if set == nil {
		return nil, !m.full
	}
	m.content.rest.hit()
	if hash != 0 && m.cameBefore(hash) {
		m.move(set, k.attrs)
	}
	return &set.value, false
}

// move puts the memory of other attributes of the same content in place of a
// set's own, where it will be found sooner.
func (m *attributeMemo[V]) move(set *memoSet[V], attrs []attribute.KeyValue) {
	hash, mask := m.hash(&set.key), uint64(len(m.slots)-1)
	for i := range uint64(memoWays) {
		if at := &m.slots[(hash+i)&mask]; at.set == set {
			*at = memoSlot[V]{}
			m.used--
		}
	}
	set.key.attrs = slices.Clone(attrs)
	m.insert(memoSlot[V]{m.hash(&set.key), set})
}

// cameBefore notes the hash of a memory and reports whether it has been noted. Of
// several that share a place, each gets its turn.
func (m *attributeMemo[V]) cameBefore(hash uint64) bool {
	if m.missed == nil {
		m.missed = make([]uint32, memoMissed)
	}
	noted, high := &m.missed[hash%memoMissed], uint32(hash>>32)
	if *noted == high {
		return true
	}
	if m.misses++; m.misses%4 == 0 || *noted == 0 {
		*noted = high
	}
	return false
}

// lookUp returns the set whose memory is that of k, or nil, and the hash of the
// memory, 0 where it was not needed. Programs that run a graph repeat the order
// of its operations too: with the set that followed the last time a look-up does
// without a hash, at a quarter less.
func (m *attributeMemo[V]) lookUp(k *memoKey) (set *memoSet[V], hash uint64) {
	if m.last != nil {
		if set = m.last.next; set != nil && set.key.equal(k) {
			m.last = set
			return set, 0
		}
	}
	hash = m.hash(k)
	mask := uint64(len(m.slots) - 1)
	for i := range uint64(memoWays) {
		if s := &m.slots[(hash+i)&mask]; s.hash == hash && s.set.key.equal(k) {
			if m.last != nil {
				m.last.next = s.set
			}
			m.last = s.set
			return s.set, hash
		}
	}
	return nil, hash
}

// add remembers the value of a set that find did not know. size is what the
// value takes. The attributes are copied.
func (m *attributeMemo[V]) add(k *memoKey, value V, size int) {
	size += len(k.attrs)*int(unsafe.Sizeof(attribute.KeyValue{})) + memoOverhead
	if m.bytes+size > m.budget {
		m.full = true
		return
	}
	m.last = nil
	set := &memoSet[V]{key: *k, value: value, size: size}
	set.key.attrs = m.content.learn(k)
	m.bytes += size
	m.insert(memoSlot[V]{m.hash(&set.key), set})
}

// insert puts s into one of its slots, among more of them where all are taken.
func (m *attributeMemo[V]) insert(s memoSlot[V]) {
	for {
		mask := uint64(len(m.slots) - 1)
		for i := range uint64(memoWays) {
			if at := &m.slots[(s.hash+i)&mask]; at.set == nil {
				*at = s
				m.used++
				return
			}
		}
		if len(m.slots) >= memoMaxSlots || m.used < len(m.slots)/16 { // many sets with one hash
			at := &m.slots[s.hash&mask]
			m.bytes -= at.set.size
			*at = s
			return
		}
		m.grow()
	}
}

func (m *attributeMemo[V]) grow() {
	old := m.slots
	m.slots, m.used = make([]memoSlot[V], 2*len(old)), 0
	for _, s := range old {
		if s.set != nil {
			m.insert(s)
		}
	}
}

// makeRoom empties a memo that is full and of little use.
func (m *attributeMemo[V]) makeRoom() {
	if !m.full {
		return
	}
	m.slots, m.used, m.bytes, m.full, m.last = make([]memoSlot[V], memoFirstSlots), 0, 0, false, nil
	m.content.forget()
	m.rest.emptied()
	m.content.rest.emptied()
}

// hash mixes the memory of the attributes. It is never 0.
func (m *attributeMemo[V]) hash(k *memoKey) uint64 {
	var h uint64
	for _, part := range k.fixed() {
		h = bits.RotateLeft64(h, 1) ^ maphash.Bytes(m.seed, memory(part))
	}
	h ^= uint64(uintptr(unsafe.Pointer(k.resource))) * 0x9e3779b97f4a7c15
	return max(h, 1)
}

func (k *memoKey) equal(other *memoKey) bool {
	if len(k.attrs) != len(other.attrs) || k.loose != other.loose || k.resource != other.resource || k.rooted != other.rooted ||
		k.name != other.name || k.scope != other.scope {
		return false
	}
	n := len(k.attrs)
	a, b := k.loose.sorted(n)
	c, d := min(a+1, b), min(b+1, n)
	return sameMemory(k.attrs[:a], other.attrs[:a]) && sameMemory(k.attrs[c:b], other.attrs[c:b]) && sameMemory(k.attrs[d:], other.attrs[d:])
}

func sameMemory(a, b []attribute.KeyValue) bool { return string(memory(a)) == string(memory(b)) }

// fixed returns the attributes around the loose ones.
func (k *memoKey) fixed() [3][]attribute.KeyValue {
	a, b := k.loose.sorted(len(k.attrs))
	return [3][]attribute.KeyValue{k.attrs[:a], k.attrs[min(a+1, b):b], k.attrs[min(b+1, len(k.attrs)):]}
}

// memory returns the memory of attributes. What it points to is not part of it.
func memory(attrs []attribute.KeyValue) []byte {
	if len(attrs) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&attrs[0])), len(attrs)*int(unsafe.Sizeof(attrs[0])))
}
