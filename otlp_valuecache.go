package optrace

import (
	"bytes"

	"go.opentelemetry.io/otel/attribute"
)

// valueCache remembers how values are encoded: the shapes of operations repeat,
// and there is no way to look into a list without allocating. It is used by one
// goroutine at a time. A full cache starts anew, and one that is of no use rests.
//
// Values with floating-point numbers in them are not kept: 0 and -0 are equal
// and are encoded differently, and a NaN is never found again.
type valueCache struct {
	encoded map[attribute.Value][]byte
	rest    restPolicy
	rests   bool // and does not take the value being encoded
	floats  bool // the value being encoded holds some
	// since tells that a value encoded since the last call of sawFloats did.
	since bool
}

// The bounds of a cache: how many values, and how long each of them.
const (
	maxCachedValues     = 8192
	maxCachedValueBytes = 512
)

// get returns how v is encoded. Where that is not known, v is encoded next and
// may then be put.
func (c *valueCache) get(v attribute.Value) ([]byte, bool) {
	c.floats = false
	if c.rests, _ = c.rest.resting(); c.rests {
		return nil, false
	}
	e, ok := c.encoded[v]
	if ok {
		c.rest.hit()
	}
	return e, ok
}

// sawFloat tells that the value being encoded holds a floating-point number.
func (c *valueCache) sawFloat() { c.floats, c.since = true, true }

// sawFloats reports whether what was encoded since its last call holds
// floating-point numbers.
func (c *valueCache) sawFloats() bool {
	saw := c.since
	c.since = false
	return saw
}

// put remembers v, which has just been encoded; the encoding is copied.
func (c *valueCache) put(v attribute.Value, encoded []byte) {
	if c.rests || c.floats || len(encoded) > maxCachedValueBytes {
		return
	}
	if c.encoded == nil {
		c.encoded = make(map[attribute.Value][]byte)
	}
	if len(c.encoded) >= maxCachedValues {
		clear(c.encoded)
	}
	c.encoded[v] = bytes.Clone(encoded)
}
