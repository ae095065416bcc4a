package attrcache

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
)

// Varying holds the indexes of the attributes outside the key: step, device and launch time change while everything
// else repeats. An index is negative for an absent or unusable attribute.
type Varying struct{ Step, Device, Launch int }

// Negative indexes.
const (
	absent    = -1
	ambiguous = -2 // several attributes of the key, or a wrong type
)

// NoVarying makes all attributes part of the key: under a custom mapping any key may matter.
var NoVarying = Varying{absent, absent, absent}

// FindVarying returns the varying attributes of the right types.
func FindVarying(attrs []attribute.KeyValue) Varying {
	v := NoVarying
	for i := range attrs {
		switch kv := &attrs[i]; kv.Key {
		case attrkey.Step:
			v.Step = onlyIndex(v.Step, i, kv.Value.Type() == attribute.INT64)
		case attrkey.Device:
			v.Device = onlyIndex(v.Device, i, kv.Value.Type() == attribute.STRING)
		case attrkey.Launch:
			v.Launch = onlyIndex(v.Launch, i, kv.Value.Type() == attribute.INT64 && kv.Value.AsInt64() >= 0)
		}
	}
	return v
}

// onlyIndex returns the index of an attribute at i. index is the result for its key so far.
func onlyIndex(index, i int, usable bool) int {
	if index == absent && usable {
		return i
	}
	return ambiguous
}

// Sorted returns the indexes in order. The number of attributes, n, stands for a negative index.
func (v Varying) Sorted(n int) [3]int {
	var in [3]int
	for i, index := range [3]int{v.Step, v.Device, v.Launch} {
		if in[i] = index; index < 0 {
			in[i] = n
		}
	}
	a := min(in[0], in[1])
	b := max(in[0], in[1])
	c := in[2]
	return [3]int{min(a, c), max(a, min(b, c)), max(b, c)}
}
