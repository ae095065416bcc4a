package optrace

import (
	"bytes"

	"go.opentelemetry.io/otel/attribute"
)

// valueCache remembers how values are encoded: the shapes of operations repeat,
// and there is no way to look into a list without allocating. It is used by one
// goroutine at a time. A full cache starts anew.
type valueCache struct{ encoded map[attribute.Value][]byte }

// The bounds of a cache: how many values, and how long each of them.
const (
	maxCachedValues     = 8192
	maxCachedValueBytes = 512
)

func (c *valueCache) get(v attribute.Value) ([]byte, bool) {
	e, ok := c.encoded[v]
	return e, ok
}

// put remembers v, whose encoding it copies.
func (c *valueCache) put(v attribute.Value, encoded []byte) {
	if same := v; len(encoded) > maxCachedValueBytes || same != v {
		return // a value with a NaN in it is never found again
	}
	if c.encoded == nil || len(c.encoded) >= maxCachedValues {
		c.encoded = make(map[attribute.Value][]byte)
	}
	c.encoded[v] = bytes.Clone(encoded)
}
