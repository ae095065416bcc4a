package attrcache

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// Varying holds the indexes of the attributes that are not part of the key:
// step and device, which change while everything else repeats. The step differs
// from one run of a graph to the next, the device from one replica to the next.
// An index is negative if there is no such attribute or it is unusable.
type Varying struct{ Step, Device int }

// Negative indexes.
const (
	absent    = -1
	ambiguous = -2 // several attributes of the key, or one of another type
)

// NoVarying makes step and device part of the key: with a custom mapping their
// keys may mean anything.
var NoVarying = Varying{absent, absent}

// FindVarying returns the varying ones of attributes: a step that is an integer
// and a device that is a string.
func FindVarying(attrs []attribute.KeyValue) Varying {
	v := NoVarying
	for i := range attrs {
		switch kv := &attrs[i]; kv.Key {
		case op.KeyStep:
			v.Step = onlyIndex(v.Step, i, kv.Value.Type() == attribute.INT64)
		case op.KeyDevice:
			v.Device = onlyIndex(v.Device, i, kv.Value.Type() == attribute.STRING)
		}
	}
	return v
}

// onlyIndex returns the index of an attribute found at i that was at index
// before; two of one key are ambiguous.
func onlyIndex(index, i int, usable bool) int {
	if index == absent && usable {
		return i
	}
	return ambiguous
}

// Sorted returns the two indexes in order, with n, the number of attributes, in
// place of negative ones.
func (v Varying) Sorted(n int) (first, second int) {
	first, second = v.Step, v.Device
	if first < 0 {
		first = n
	}
	if second < 0 {
		second = n
	}
	return min(first, second), max(first, second)
}
