// Package intern makes equal byte strings share one Go string. Readers intern names, which repeat from record to
// record.
package intern

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The bounds of a table. Repeated values are short and few. A full table is emptied.
const (
	maxEntries = 1 << 16
	maxLength  = 512
	maxBytes   = 4 << 20
	entryBytes = 64 // about the size of a string in the map beside its bytes
)

// recentSlots is the size of the cache in front of the map, a power of two.
const (
	recentBits  = 9
	recentSlots = 1 << recentBits
)

// Table holds up to 65,536 strings of up to 512 bytes. The zero value is ready; it is not safe for concurrent use.
type Table struct {
	strings map[string]string
	bytes   int // of strings, with the map
	limit   int // of bytes; 0 is maxBytes
	// recent is a direct-mapped cache in front of the map: few values make up nearly all of a file.
	recent [recentSlots]recent
}

type recent struct {
	sample
	text string
}

// String returns b as a string, the same one for equal bytes while the table holds it.
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

// Find returns the string of b in the table. It adds no string: found ones need no second validation.
func (t *Table) Find(b []byte) (s string, ok bool) {
	if len(b) == 0 {
		return "", true
	}
	x := sampleOf(b)
	slot := &t.recent[x.slot(len(b))]
	if slot.sample == x && slot.holds(b) {
		return slot.text, true
	}
	if s, ok = t.strings[string(b)]; ok { // does not allocate
		*slot = recent{x, s}
	}
	return s, ok
}

// Valid is String for valid UTF-8; ok is false for other bytes.
func (t *Table) Valid(b []byte) (s string, ok bool) {
	if len(b) == 0 {
		return "", true
	}
	x := sampleOf(b)
	if slot := &t.recent[x.slot(len(b))]; slot.sample == x && slot.holds(b) {
		return slot.text, true
	}
	if s, ok = t.Find(b); ok {
		return s, true
	}
	if !utf8.Valid(b) {
		return "", false
	}
	return t.String(b), true
}

// holds reports whether r is the string b. r has the sample of b.
func (r *recent) holds(b []byte) bool {
	return len(r.text) == len(b) && (len(b) <= sampled || r.text == string(b))
}

// Limit bounds the memory of the table's strings in bytes; with 0 it holds no string.
func (t *Table) Limit(bytes int) { t.limit = max(1, bytes) }

func (t *Table) add(s string) {
	bytes := len(s) + entryBytes
	limit := cmp.Or(t.limit, maxBytes)
	if t.bytes+bytes > limit {
		if bytes > limit {
			return
		}
		t.strings = nil
		t.recent = [recentSlots]recent{}
	}
	if t.strings == nil || len(t.strings) >= maxEntries {
		t.strings = make(map[string]string)
		t.bytes = 0
	}
	t.strings[s] = s
	t.bytes += bytes
	x := sampleOf([]byte(s))
	t.recent[x.slot(len(s))] = recent{x, s}
}

// sample has all bytes of a string of up to sampled bytes, of a longer one its first, last and some middle bytes.
type sample struct{ first, middle, last uint64 }

const sampled = 24 // the length of the longest string with all bytes in its sample

// sampleOf returns the sample of b, which is not empty.
func sampleOf(b []byte) (x sample) {
	n := len(b)
	switch {
	case n > 16:
		x.middle = binary.LittleEndian.Uint64(b[n/2-4:])
		fallthrough
	case n >= 8:
		x.first = binary.LittleEndian.Uint64(b)
		x.last = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x.first = uint64(binary.LittleEndian.Uint32(b))
		x.last = uint64(binary.LittleEndian.Uint32(b[n-4:]))
	default:
		x.first = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return x
}

func (x *sample) hash(n int) uint64 {
	h := x.first ^ bits.RotateLeft64(x.middle, 21) ^ bits.RotateLeft64(x.last, 42) ^ uint64(n)
	return h * 0x9e3779b97f4a7c15
}

func (x *sample) slot(n int) int { return int(x.hash(n) >> (64 - recentBits)) }

// Hash returns a hash of b, which is not empty, for caches that compare their finds. Its highest bits are the best. It
// mixes the length with the first, middle and last bytes.
func Hash(b []byte) uint64 {
	x := sampleOf(b)
	return x.hash(len(b))
}
