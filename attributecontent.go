package optrace

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
)

// attributeContent finds sets of attributes whose memory is not known by what is
// in it: it puts known values in place of equal ones. That costs as much as three
// look-ups by memory, and a third of encoding the set anew. It is used by one
// goroutine at a time.
type attributeContent struct {
	rest  restPolicy
	lists map[attribute.Value]attribute.Value
	texts map[string]string
	key   memoKey // what known returns
}

// maxContent bounds how many values of a type are known; the sets that hold them
// bound their bytes.
const maxContent = 1 << 13

// known returns k with known values in place of its own, valid until the next
// call, or nil where one of them is not known or looking is of little use. stale
// is as restPolicy has it.
func (c *attributeContent) known(k *memoKey) (known *memoKey, stale bool) {
	rests, stale := c.rest.resting()
	if rests || c.texts == nil {
		return nil, stale
	}
	attrs := append(c.key.attrs[:0], k.attrs...)
	c.key = *k
	c.key.attrs = attrs
	for i := range attrs {
		if i == k.loose.step || i == k.loose.device {
			continue
		}
		v := &attrs[i].Value
		switch v.Type() {
		case attribute.EMPTY, attribute.BOOL, attribute.INT64, attribute.FLOAT64: // all in its memory
		case attribute.STRING:
			text, ok := c.texts[v.AsString()]
			if !ok {
				return nil, stale
			}
			*v = attribute.StringValue(text)
		default:
			list, ok := c.lists[*v]
			if !ok {
				return nil, stale
			}
			*v = list
		}
	}
	return &c.key, stale
}

// learn returns a copy of k's attributes in which equal values share their memory
// with those known, and makes the others known.
func (c *attributeContent) learn(k *memoKey) []attribute.KeyValue {
	if c.texts == nil {
		c.texts = make(map[string]string)
		c.lists = make(map[attribute.Value]attribute.Value)
	}
	attrs := slices.Clone(k.attrs)
	for i := range attrs {
		v := &attrs[i].Value
		switch v.Type() {
		case attribute.STRING:
			if text, ok := c.texts[v.AsString()]; ok {
				*v = attribute.StringValue(text)
			} else if len(c.texts) < maxContent {
				c.texts[v.AsString()] = v.AsString()
			}
		case attribute.INT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
			if list, ok := c.lists[*v]; ok {
				*v = list
			} else if len(c.lists) < maxContent && isExact(*v) {
				c.lists[*v] = *v
			}
		}
	}
	return attrs
}

// forget makes nothing known.
func (c *attributeContent) forget() { c.texts, c.lists, c.key.attrs = nil, nil, nil }

// isExact reports whether lists that are equal to v are encoded alike, which is
// not so with floating-point numbers: 0 equals -0. Of lists within lists only
// simple ones are looked at, such as those of shapes.
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
