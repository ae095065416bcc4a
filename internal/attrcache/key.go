package attrcache

import (
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

// equal reports whether the attributes of both keys, which have the same
// fingerprint, are the same ones, and all else is equal.
func (k *Key) equal(other *Key) bool {
	return len(k.Attrs) == len(other.Attrs) && k.Varying == other.Varying && k.Resource == other.Resource &&
		k.Rooted == other.Rooted && k.Name == other.Name && k.Scope == other.Scope
}
