// Package intern makes equal byte strings share one Go string.
package intern

// The bounds of a table. Values that repeat are short and few: names, devices,
// services. When a table is full it starts anew, which costs the values that
// do repeat one allocation each.
const (
	maxEntries = 1 << 16
	maxLength  = 512
)

// Table holds the strings seen. The zero value is ready to use. It is not safe
// for concurrent use.
type Table struct {
	strings map[string]string
}

// String returns b as a string, the same one for equal bytes while the table
// remembers them.
func (t *Table) String(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := t.strings[string(b)]; ok { // does not allocate
		return s
	}
	s := string(b)
	if len(s) > maxLength {
		return s
	}
	if t.strings == nil || len(t.strings) >= maxEntries {
		t.strings = make(map[string]string)
	}
	t.strings[s] = s
	return s
}
