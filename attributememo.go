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
// Sets of attributes are told apart by their memory: by the addresses of their
// texts and lists, not by what is there. Prepared operations and those of a
// Tracer, which keeps the values of shapes, have the same addresses every time.
// Memory that is equal holds equal attributes; other memory may do so too, and
// is then encoded anew. The iteration and the device are left out of the
// comparison, see looseAttributes.
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
	rest  restPolicy
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

	memoWays       = 8
	memoFirstSlots = 256
	memoMaxSlots   = 1 << 16
	// memoOverhead is about what a set takes beside its attributes and its value.
	memoOverhead = 200
)

// find returns the value of a set, or nil, and the hash of the set, 0 where
// there is no use in adding it.
func (m *attributeMemo[V]) find(k *memoKey) (*V, uint64) {
	if m.budget == 0 || len(k.attrs) == 0 {
		return nil, 0
	}
	rests, stale := m.rest.resting()
	if rests {
		return nil, 0
	}
	if stale && m.full {
		m.empty()
	}
	if m.slots == nil {
		m.seed = maphash.MakeSeed()
		m.slots = make([]memoSlot[V], memoFirstSlots)
	}
	if m.last != nil && m.last.next != nil && m.last.next.key.equal(k) {
		return m.found(m.last.next), 0
	}
	hash := m.hash(k)
	mask := uint64(len(m.slots) - 1)
	for i := range uint64(memoWays) {
		if s := &m.slots[(hash+i)&mask]; s.hash == hash && s.set.key.equal(k) {
			return m.found(s.set), 0
		}
	}
	m.last = nil
	if m.full {
		return nil, 0
	}
	return nil, hash
}

// found notes that a set was found. Programs that run a graph repeat the order of
// its operations too: with the set that followed the last time a look-up does
// without a hash, at a quarter less.
func (m *attributeMemo[V]) found(set *memoSet[V]) *V {
	m.rest.hit()
	if m.last != nil {
		m.last.next = set
	}
	m.last = set
	return &set.value
}

// add remembers the value of a set that find did not know. size is what the
// value takes. The attributes are copied.
func (m *attributeMemo[V]) add(k *memoKey, hash uint64, value V, size int) {
	size += len(k.attrs)*int(unsafe.Sizeof(attribute.KeyValue{})) + memoOverhead
	if m.bytes+size > m.budget {
		m.full = true
		return
	}
	set := &memoSet[V]{key: *k, value: value, size: size}
	set.key.attrs = slices.Clone(k.attrs)
	m.bytes += size
	m.insert(memoSlot[V]{hash, set})
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

func (m *attributeMemo[V]) empty() {
	m.slots, m.used, m.bytes, m.full, m.last = nil, 0, 0, false, nil
	m.rest.emptied()
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
