package attrcache

import (
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
)

// interner replaces values by canonical equal ones, so that sets with equal
// content have equal memory.
type interner struct {
	lists   map[attribute.Value]attribute.Value
	strings map[string]string
	key     Key // the result of canonical
}

const (
	// maxInterned bounds the values of each kind. Their bytes are bounded by the
	// entries that were added with them.
	maxInterned = 1 << 13
	// What a text and a list take in a map.
	textBytes = 3 * int(unsafe.Sizeof(""))
	listBytes = 3 * int(unsafe.Sizeof(attribute.Value{}))
)

// canonical returns k with canonical values, valid until the next call, or nil
// if one of its values has not been interned.
func (n *interner) canonical(k *Key) *Key {
	attrs := append(n.key.Attrs[:0], k.Attrs...)
	n.key = *k
	n.key.Attrs = attrs
	for i := range attrs {
		if k.Varying.Is(i) {
			continue
		}
		v := &attrs[i].Value
		switch v.Type() {
		case attribute.EMPTY, attribute.BOOL, attribute.INT64, attribute.FLOAT64: // without pointers
		case attribute.STRING:
			s, ok := n.strings[v.AsString()]
			if !ok {
				return nil
			}
			*v = attribute.StringValue(s)
		default:
			list, ok := n.lists[*v]
			if !ok {
				return nil
			}
			*v = list
		}
	}
	return &n.key
}

// intern replaces the values of attrs by canonical ones; values that have none
// become canonical themselves. It returns how many bytes more n takes.
func (n *interner) intern(attrs []attribute.KeyValue) (bytes int) {
	if n.strings == nil {
		n.strings = make(map[string]string)
		n.lists = make(map[attribute.Value]attribute.Value)
	}
	for i := range attrs {
		v := &attrs[i].Value
		switch v.Type() {
		case attribute.STRING:
			if s, ok := n.strings[v.AsString()]; ok {
				*v = attribute.StringValue(s)
			} else if len(n.strings) < maxInterned {
				n.strings[v.AsString()] = v.AsString()
				bytes += textBytes
			}
		case attribute.INT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
			if list, ok := n.lists[*v]; ok {
				*v = list
			} else if len(n.lists) < maxInterned && isExact(*v) {
				n.lists[*v] = *v
				bytes += listBytes
			}
		}
	}
	return bytes
}

// isExact reports whether lists that are equal to v are encoded alike. Lists of
// floating-point numbers are not: 0 equals -0. Of nested lists only simple ones
// are considered, such as those of shapes.
func isExact(v attribute.Value) bool {
	if v.Type() != attribute.SLICE {
		return true
	}
	return !slices.ContainsFunc(v.AsSlice(), func(e attribute.Value) bool {
		switch e.Type() {
		case attribute.INT64SLICE, attribute.STRINGSLICE, attribute.INT64, attribute.STRING:
			return false
		}
		return true
	})
}
