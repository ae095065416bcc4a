package attrcache

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
)

// Varying holds the indexes of the attributes that are not part of the key: step, device and launch time, which change while
// everything else repeats. An index is negative if there is no such attribute or it is unusable.
type Varying struct{ Step, Device, Launch int }

// Negative indexes.
const (
	absent    = -1
	ambiguous = -2 // several attributes of the key, or one of another type
)

// NoVarying makes all attributes part of the key: with a custom mapping their
// keys may mean anything.
var NoVarying = Varying{absent, absent, absent}

// FindVarying returns the varying ones of attributes, if they are of the types that entries have.
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

// onlyIndex returns the index of an attribute found at i, where its key was found at index before.
func onlyIndex(index, i int, usable bool) int {
	if index == absent && usable {
		return i
	}
	return ambiguous
}

// Is reports whether the attribute at an index is a varying one.
func (v Varying) Is(i int) bool { return i == v.Step || i == v.Device || i == v.Launch }

// Sorted returns the indexes in order, with n, the number of attributes, in place of negative ones.
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
