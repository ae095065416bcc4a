package optraceconnector

import (
	"maps"
	"slices"
)

// table holds values by key, in the order of creation. Keys beyond the limit share one value.
type table[K comparable, V any] struct {
	limit int
	all   []*V
	byKey map[K]*V
	rest  *V // of the keys beyond the limit
}

// find returns the value of a key. begin creates a missing one.
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

// keep removes unused values.
func (t *table[K, V]) keep(used func(*V) bool) {
	t.all = slices.DeleteFunc(t.all, func(v *V) bool { return !used(v) })
	maps.DeleteFunc(t.byKey, func(_ K, v *V) bool { return !used(v) })
	if t.rest != nil && !used(t.rest) {
		t.rest = nil
	}
}
