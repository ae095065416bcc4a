// Package attrcache maps attribute sets to their encoding. Programs repeat the same operations, and looking up a set is
// much cheaper than encoding it.
//
// A [Cache] compares sets by memory: by a fingerprint of the addresses of their strings and lists, not by the content.
// Prepared operations and operations of a Tracer, which keeps the values of shapes, have the same addresses every time.
// At a low hit rate the cache is bypassed for a while. A Cache holds a bounded number of bytes, allocates only after its
// first lookup, and is not safe for concurrent use.
package attrcache

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
)

// Cache maps attribute sets to values of type V.
type Cache[V any] struct {
	maxBytes int // 0 turns the cache off

	seeds       seeds
	slots       []slot[V] // the length is a power of two
	used, bytes int
	full        bool

	gate gate
}

type slot[V any] struct {
	fingerprint
	entry *entry[V]
}

type entry[V any] struct {
	key   Key // with attributes of its own
	value V
	size  int // memory in bytes
}

const (
	ways       = 8
	firstSlots = 256
	maxSlots   = 1 << 16
	maxSet     = 16 << 10 // the largest kept set, in bytes
)

// New returns a Cache of at most maxBytes. With 0, or if span.LayoutKnown reports false, it stays empty.
func New[V any](maxBytes int) Cache[V] {
	if !span.LayoutKnown() {
		maxBytes = 0
	}
	return Cache[V]{maxBytes: maxBytes}
}

// Hits returns the number of recent lookups that found an entry.
func (c *Cache[V]) Hits() int { return c.gate.hits }

// Lookup returns the value stored for k. If there is no value, add reports whether Add is worthwhile.
func (c *Cache[V]) Lookup(k *Key) (value *V, add bool) {
	if c.maxBytes == 0 || len(k.Attrs) == 0 {
		return nil, false
	}
	use, review := c.gate.enter()
	if !use {
		return nil, false
	}
	if review {
		if c.gate.review(c.full) {
			c.slots = nil
			c.used = 0
			c.bytes = 0
			c.full = false
		}
		if c.gate.skip > 0 {
			return nil, false
		}
	}
	if c.slots == nil {
		if c.maxBytes < 2*firstSlots*slotBytes[V]() {
			return nil, false
		}
		c.seeds = newSeeds()
		c.slots = make([]slot[V], firstSlots)
		c.bytes = firstSlots * slotBytes[V]()
	}
	if e := c.find(k); e != nil {
		c.gate.hits++
		return &e.value, false
	}
	return nil, !c.full
}

func (c *Cache[V]) find(k *Key) *entry[V] {
	f, ok := c.seeds.of(k)
	if !ok {
		return nil
	}
	first := f.slot()
	mask := uint64(len(c.slots) - 1)
	for i := range uint64(ways) {
		s := &c.slots[(first+i)&mask]
		if s.entry == nil {
			return nil
		}
		if s.fingerprint == f && s.entry.key.equal(k) {
			return s.entry
		}
	}
	return nil
}

// Add stores a value after a Lookup that reported add. It copies the attributes. size is the bytes behind the value.
func (c *Cache[V]) Add(k *Key, value V, size int) {
	e := &entry[V]{key: *k, value: value}
	size += int(unsafe.Sizeof(*e)) + len(k.Attrs)*int(unsafe.Sizeof(attribute.KeyValue{})) + len(k.Name) +
		span.Memory(k.Attrs)
	switch {
	case size > maxSet:
		return
	case c.bytes+size > c.maxBytes:
		c.full = true
		return
	}
	e.key.Attrs = slices.Clone(k.Attrs)
	e.size = size
	if f, ok := c.seeds.of(&e.key); ok {
		c.bytes += size
		c.insert(slot[V]{f, e})
	}
}

func slotBytes[V any]() int { return int(unsafe.Sizeof(slot[V]{})) }

// insert stores s in one of its slots. It grows the table if all are taken.
func (c *Cache[V]) insert(s slot[V]) {
	first := s.fingerprint.slot()
	for {
		mask := uint64(len(c.slots) - 1)
		for i := range uint64(ways) {
			if at := &c.slots[(first+i)&mask]; at.entry == nil {
				*at = s
				c.used++
				return
			}
		}
		noRoom := c.bytes+len(c.slots)*slotBytes[V]() > c.maxBytes
		if noRoom || len(c.slots) >= maxSlots || c.used < len(c.slots)/16 { // many sets share the slots
			at := &c.slots[first&mask]
			c.bytes -= at.entry.size
			*at = s
			return
		}
		c.grow()
	}
}

func (c *Cache[V]) grow() {
	old := c.slots
	c.slots = make([]slot[V], 2*len(old))
	c.used = 0
	c.bytes += len(old) * slotBytes[V]()
	for _, s := range old {
		if s.entry != nil {
			c.insert(s)
		}
	}
}

// Strings is a direct-mapped cache of encoded strings, such as devices. It is not safe for concurrent use.
type Strings struct{ slots [32]StringSlot }

// StringSlot holds a string, or "", and its encoding.
type StringSlot struct {
	Text    string
	Encoded []byte
}

const maxString = 64

// Slot returns the slot of s, nil if s is empty or too long. The caller overwrites another string in it.
func (c *Strings) Slot(s string) *StringSlot {
	n := len(s)
	if n == 0 || n > maxString {
		return nil
	}
	// The names of devices differ in their last byte.
	return &c.slots[(uint(s[n-1])+uint(n)*5)%uint(len(c.slots))]
}

// gate bypasses a cache with a low hit rate, with exponential backoff.
type gate struct {
	lookups, hits int // in this window

	windows    int // since the cache was emptied
	lowWindows int // in a row, with a low hit rate
	backoff    int // length of the last bypass, in windows
	skip       int // lookups left to skip
}

const (
	window       = 1 << 13 // lookups
	firstBackoff = 4       // windows
	maxBackoff   = 128     // windows
	minLife      = 64      // windows
)

// enter counts a lookup. It reports whether to use the cache, and whether to call review first.
func (g *gate) enter() (use, review bool) {
	if g.skip > 0 {
		g.skip--
		return false, false
	}
	if g.lookups == window {
		return true, true
	}
	g.lookups++
	return true, false
}

// review ends a window and reports whether to empty the cache: at a bypass, or when full and only fairly useful.
func (g *gate) review(full bool) (empty bool) {
	hits := g.hits
	g.lookups = 1
	g.hits = 0
	g.windows++
	if hits >= window/4 {
		g.lowWindows = 0
		g.backoff = 0
		empty = full && hits < window*3/4 && g.windows >= minLife
	} else if g.lowWindows++; g.lowWindows >= 2 {
		g.backoff = min(max(firstBackoff, 2*g.backoff), maxBackoff)
		g.skip = g.backoff * window
		empty = true
	}
	if empty {
		g.windows = 0
		g.lowWindows = 0
	}
	return empty
}

// fingerprint identifies the attributes of a key by their memory, without the pointed-to content and without the
// values of varying ones. Different attributes collide with a probability of about 2^-120: the seeds are random. A
// cache keeps the strings and lists of its entries alive; their addresses stay theirs.
type fingerprint [2]uint64

type seeds [4]uint64

func newSeeds() seeds { return seeds{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()} }

// of returns the fingerprint of k. It reports false for a very long text, an unusual address or an unknown type.
func (s *seeds) of(k *Key) (f fingerprint, ok bool) {
	const (
		lengthAt = addressBits
		typeAt   = 58
		maxKey   = 1 << (typeAt - lengthAt)
		maxText  = 1 << (64 - lengthAt)
	)
	a := s[0]
	b := s[1]
	for i := range k.Attrs {
		kv := &k.Attrs[i]
		name := string(kv.Key)
		typ := kv.Value.Type()
		number, text, list := span.Words(&kv.Value)
		nameAt := address(name)
		textAt := address(text)
		if len(name) >= maxKey || len(text) >= maxText || uint(typ) > uint(attribute.MAP) || areWide(nameAt, textAt) {
			return f, false
		}
		key := nameAt ^ uint64(len(name))<<lengthAt ^ uint64(typ)<<typeAt
		// A value has only one of the three.
		value := number ^ textAt ^ uint64(len(text))<<lengthAt ^ uint64(list)
		if v := k.Varying; i == v.Step || i == v.Device || i == v.Launch {
			value = 0
		}
		a = fold(a^value, s[2]^key)
		b = fold(b^key, s[3]^value)
	}
	return fingerprint{a, b}, true
}

// addressBits is the number of significant bits of an address. Lengths and types take the place of the bits above.
const addressBits = 48

func areWide(a, b uint64) bool {
	const half = 1 << (addressBits - 1)
	return ((a+half)|(b+half))>>addressBits != 0
}

// slot returns a number whose low bits select a slot. Consecutive numbers would share the low bits of either word.
func (f fingerprint) slot() uint64 { return fold(f[0], f[1]) }

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func address(s string) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.StringData(s)))) }
