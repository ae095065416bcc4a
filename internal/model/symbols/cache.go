package symbols

import "unsafe"

// cacheSlots is a power of two, for some hundreds of names.
const (
	cacheBits  = 9
	cacheSlots = 1 << cacheBits
)

// Cache is a direct-mapped cache of values by a string and a tag. It does not hash the string but selects the slot by
// its address: readers intern strings, and equal ones mostly share their bytes. Equal strings at different addresses
// cost a miss, never a wrong value. The zero value is ready to use.
type Cache[T comparable, V any] struct {
	slots [cacheSlots]Slot[T, V]
}

// Slot is a place of a Cache. It may hold any string and tag, or be free.
type Slot[T comparable, V any] struct {
	Value V
	text  string
	tag   T
	used  bool
}

// Slot returns the slot for the text and a number derived from the tag.
func (c *Cache[T, V]) Slot(text string, number int64) *Slot[T, V] {
	// Multiplying by 2^64 divided by the golden ratio spreads similar addresses.
	address := uint64(uintptr(unsafe.Pointer(unsafe.StringData(text))))
	return &c.slots[(address^uint64(number))*0x9e3779b97f4a7c15>>(64-cacheBits)]
}

// Holds reports whether the slot has the value of the text and the tag.
func (s *Slot[T, V]) Holds(text string, tag T) bool {
	return s.used && s.tag == tag && SameString(s.text, text)
}

// Set makes the slot hold the value of the text and the tag.
func (s *Slot[T, V]) Set(text string, tag T, value V) {
	s.text = text
	s.tag = tag
	s.Value = value
	s.used = true
}

// SameString is a == b without a call if both share their bytes.
func SameString(a, b string) bool {
	return len(a) == len(b) && (unsafe.StringData(a) == unsafe.StringData(b) || a == b)
}
