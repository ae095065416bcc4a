// Package intern makes equal byte strings share one Go string. Readers use it for
// names, which repeat from record to record, so that records allocate nothing.
package intern

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The bounds of a table. Values that repeat are short and few: names, devices,
// services. A full table is emptied, after which each of them is allocated once more.
const (
	maxEntries = 1 << 16
	maxLength  = 512
)

// recentSlots is the size of the cache in front of the map, a power of two.
const (
	recentBits  = 9
	recentSlots = 1 << recentBits
)

// Table holds the strings seen, at most 65,536 of at most 512 bytes. The zero
// value is ready to use. It is not safe for concurrent use.
type Table struct {
	strings map[string]string
	// recent is a direct-mapped cache in front of the map: few values make up nearly
	// all of a file.
	recent [recentSlots]string
}

// String returns b as a string, the same one for equal bytes while the table
// holds them.
func (t *Table) String(b []byte) string {
	if s, ok := t.Find(b); ok {
		return s
	}
	s := string(b)
	if len(s) <= maxLength {
		t.add(s)
	}
	return s
}

// Find returns the string that the table holds for b. It never adds one: a caller
// that validates strings before adding them need not validate those found.
func (t *Table) Find(b []byte) (s string, ok bool) {
	if len(b) == 0 {
		return "", true
	}
	slot := &t.recent[slotOf(b)]
	if *slot == string(b) { // does not allocate
		return *slot, true
	}
	if s, ok = t.strings[string(b)]; ok { // nor does this
		*slot = s
	}
	return s, ok
}

// Valid is String for bytes that have to be valid UTF-8; ok is false for others. Long
// ones are not shared.
func (t *Table) Valid(b []byte) (s string, ok bool) {
	if len(b) == 0 {
		return "", true
	}
	if slot := &t.recent[slotOf(b)]; *slot == string(b) { // does not allocate
		return *slot, true
	}
	if s, ok = t.Find(b); ok {
		return s, true
	}
	if !utf8.Valid(b) {
		return "", false
	}
	return t.String(b), true
}

func (t *Table) add(s string) {
	if t.strings == nil || len(t.strings) >= maxEntries {
		t.strings = make(map[string]string)
	}
	t.strings[s] = s
	t.recent[slotOf([]byte(s))] = s
}

// slotOf returns the slot of b, which is not empty.
func slotOf(b []byte) int { return int(Hash(b) >> (64 - recentBits)) }

// Hash returns a number for b, which is not empty, for caches that compare what they
// find: its highest bits are the best. It mixes the length with the first, middle and
// last bytes, which are all of them up to 24.
func Hash(b []byte) uint64 {
	n := len(b)
	var first, middle, last uint64
	switch {
	case n >= 8:
		first = binary.LittleEndian.Uint64(b)
		middle = binary.LittleEndian.Uint64(b[n/2-4:])
		last = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		first = uint64(binary.LittleEndian.Uint32(b))
		last = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	default:
		first = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	h := first ^ bits.RotateLeft64(middle, 21) ^ bits.RotateLeft64(last, 42) ^ uint64(n)
	return h * 0x9e3779b97f4a7c15
}
