package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/timeline"
)

// annotations are debug annotations, each as a field of what they annotate: an event, or
// an annotation that holds others. It is a [timeline.Arguments].
type annotations struct {
	field protowire.Number
	names *names
	buf   []byte
}

// value appends an annotation of a value.
func (a *annotations) value(key string, value []byte) {
	b := appendUint(nil, annotationNameIID, a.names.id(key))
	a.buf = appendMessage(a.buf, a.field, append(b, value...))
}

// Str appends a text.
func (a *annotations) Str(key, value string) { a.value(key, appendText(nil, annotationString, value)) }

// Int appends a number.
func (a *annotations) Int(key string, value int64) { a.value(key, integer(value)) }

// True appends true.
func (a *annotations) True(key string) { a.value(key, appendUint(nil, annotationBool, 1)) }

// Null appends an annotation without a value.
func (a *annotations) Null(key string) { a.value(key, nil) }

// DTypes appends a list of element types.
func (a *annotations) DTypes(key string, list []op.DType) {
	a.value(key, array(len(list), func(i int) []byte { return appendText(nil, annotationString, string(list[i])) }))
}

// Shape appends a list of dimensions.
func (a *annotations) Shape(key string, shape op.Shape) { a.value(key, dims(shape)) }

// Shapes appends a list of shapes, one without a value for what is not known.
func (a *annotations) Shapes(key string, list []op.Shape) {
	a.value(key, array(len(list), func(i int) []byte {
		if list[i] == nil {
			return nil
		}
		return dims(list[i])
	}))
}

// Objects appends a list of dictionaries.
func (a *annotations) Objects(key string, n int, member func(i int, to timeline.Arguments)) {
	a.value(key, array(n, func(i int) []byte {
		entries := annotations{field: annotationEntries, names: a.names}
		member(i, &entries)
		return entries.buf
	}))
}

func integer(v int64) []byte { return appendUint(nil, annotationInt, uint64(v)) }

func dims(shape op.Shape) []byte {
	return array(len(shape), func(i int) []byte { return integer(shape[i]) })
}

// array returns the value of an annotation that is a list of n values. One without any is
// a nested value: no entries would be no value.
func array(n int, value func(i int) []byte) []byte {
	if n == 0 {
		return appendMessage(nil, annotationNested, appendUint(nil, nestedType, nestedArray))
	}
	var b []byte
	for i := range n {
		b = appendMessage(b, annotationArray, value(i))
	}
	return b
}
