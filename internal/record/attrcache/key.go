package attrcache

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Key is the input of an encoding.
type Key struct {
	Attrs   []attribute.KeyValue
	Varying Varying
	// Zero if the encoding does not depend on them.
	Name, Scope string
	Resource    *resource.Resource
	Rooted      bool // the local root is known apart from the attributes
}

// Fixed returns the attributes before, between and after the varying ones.
func (k *Key) Fixed() (fixed [4][]attribute.KeyValue) {
	from := 0
	for i, at := range k.Varying.Sorted(len(k.Attrs)) {
		fixed[i] = k.Attrs[from:at]
		from = min(at+1, len(k.Attrs))
	}
	fixed[3] = k.Attrs[from:]
	return fixed
}

func (k *Key) equal(other *Key) bool {
	return len(k.Attrs) == len(other.Attrs) && k.Varying == other.Varying && k.Resource == other.Resource &&
		k.Rooted == other.Rooted && k.Name == other.Name && k.Scope == other.Scope
}
