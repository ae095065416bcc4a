package attrcache

import (
	"hash/maphash"
	"math/bits"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Key is what an encoding depends on.
type Key struct {
	Attrs   []attribute.KeyValue
	Varying Varying
	// The zero values where the encoding does not depend on them.
	Name, Scope string
	Resource    *resource.Resource
	Rooted      bool // the local root is known, whatever attributes say
}

// Fixed returns the attributes before, between and after the varying ones.
func (k *Key) Fixed() [3][]attribute.KeyValue {
	first, second := k.Varying.Sorted(len(k.Attrs))
	return [3][]attribute.KeyValue{
		k.Attrs[:first], k.Attrs[min(first+1, second):second], k.Attrs[min(second+1, len(k.Attrs)):],
	}
}

// equal reports whether the fixed attributes of both keys have the same memory
// and all else is equal.
func (k *Key) equal(other *Key) bool {
	if len(k.Attrs) != len(other.Attrs) || k.Varying != other.Varying || k.Resource != other.Resource ||
		k.Rooted != other.Rooted || k.Name != other.Name || k.Scope != other.Scope {
		return false
	}
	n := len(k.Attrs)
	a, b := k.Varying.Sorted(n)
	c, d := min(a+1, b), min(b+1, n)
	return sameMemory(k.Attrs[:a], other.Attrs[:a]) &&
		sameMemory(k.Attrs[c:b], other.Attrs[c:b]) &&
		sameMemory(k.Attrs[d:], other.Attrs[d:])
}

func sameMemory(a, b []attribute.KeyValue) bool { return string(memory(a)) == string(memory(b)) }

// memory returns the memory of attributes, without what it points to. The
// entries of a cache keep their strings and lists alive, so an address cannot
// come to stand for something else.
func memory(attrs []attribute.KeyValue) []byte {
	if len(attrs) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&attrs[0])), len(attrs)*int(unsafe.Sizeof(attrs[0])))
}

// hash mixes the memory of the fixed attributes. It is never 0.
func (c *Cache[V]) hash(k *Key) uint64 {
	var h uint64
	for _, part := range k.Fixed() {
		h = bits.RotateLeft64(h, 1) ^ maphash.Bytes(c.seed, memory(part))
	}
	h ^= uint64(uintptr(unsafe.Pointer(k.Resource))) * 0x9e3779b97f4a7c15
	return max(h, 1)
}
