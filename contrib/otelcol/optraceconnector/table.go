package optraceconnector

import (
	"maps"
	"slices"
)

// table holds values by key, in the order in which they were begun. The keys beyond the limit
// have one value in common.
type table[K comparable, V any] struct {
	limit int
	all   []*V
	byKey map[K]*V
	rest  *V // of the keys beyond the limit; nil for none
}

// find returns the value of a key, which begin returns where there is none.
func (t *table[K, V]) find(key K, begin func(overflow bool) *V) *V {
	if found := t.byKey[key]; found != nil {
		return found
	}
	overflow := len(t.byKey) >= t.limit
	if overflow && t.rest != nil {
		return t.rest
	}
	begun := begin(overflow)
	t.all = append(t.all, begun)
	switch {
	case overflow:
		t.rest = begun
	case t.byKey == nil:
		t.byKey = map[K]*V{key: begun}
	default:
		t.byKey[key] = begun
	}
	return begun
}

// keep ends the values that are not used.
func (t *table[K, V]) keep(used func(*V) bool) {
	t.all = slices.DeleteFunc(t.all, func(v *V) bool { return !used(v) })
	maps.DeleteFunc(t.byKey, func(_ K, v *V) bool { return !used(v) })
	if t.rest != nil && !used(t.rest) {
		t.rest = nil
	}
}
