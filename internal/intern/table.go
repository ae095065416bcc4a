// Package intern makes equal byte strings share one Go string. Readers use it for
// names, which repeat from record to record, so that records allocate nothing.
package intern

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

func (t *Table) add(s string) {
	if t.strings == nil || len(t.strings) >= maxEntries {
		t.strings = make(map[string]string)
	}
	t.strings[s] = s
	t.recent[slotOf(s)] = s
}

// slotOf mixes the length and three bytes of b, which is not empty: names that
// differ do so at the end ("cuda:1"), in the middle or in length. The product
// with 2^32 divided by the golden ratio spreads them over the slots.
func slotOf[T string | []byte](b T) int {
	n := len(b)
	h := uint32(n) ^ uint32(b[n-1])<<8 ^ uint32(b[n/2])<<16 ^ uint32(b[0])<<24
	return int(h * 0x9e3779b1 >> (32 - recentBits))
}
