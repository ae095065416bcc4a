package chrome

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/timeline"
)

// arguments are the members of an object, which viewers show of a selected event. It
// is a [timeline.Arguments].
type arguments struct{ buf []byte }

// True appends true.
func (a *arguments) True(key string) {
	a.key(key)
	a.buf = append(a.buf, "true"...)
}

// Null appends null.
func (a *arguments) Null(key string) {
	a.key(key)
	a.buf = append(a.buf, "null"...)
}

// Objects appends a list of objects.
func (a *arguments) Objects(key string, n int, member func(i int, to timeline.Arguments)) {
	a.key(key)
	a.list(n, func(i int) {
		var object arguments
		member(i, &object)
		a.buf = append(append(append(a.buf, '{'), object.buf...), '}')
	})
}

// Str appends a text.
func (a *arguments) Str(key, value string) {
	a.key(key)
	a.buf = jsontext.AppendString(a.buf, value)
}

// Int appends a number.
func (a *arguments) Int(key string, value int64) {
	a.key(key)
	a.buf = strconv.AppendInt(a.buf, value, 10)
}

// DTypes appends a list of element types.
func (a *arguments) DTypes(key string, list []op.DType) {
	a.key(key)
	a.list(len(list), func(i int) { a.buf = jsontext.AppendString(a.buf, string(list[i])) })
}

// Shape appends a list of dimensions.
func (a *arguments) Shape(key string, shape op.Shape) {
	a.key(key)
	a.buf = shape.AppendJSON(a.buf)
}

// Shapes appends a list of shapes, null for one that is not known.
func (a *arguments) Shapes(key string, list []op.Shape) {
	a.key(key)
	a.buf = op.AppendShapesJSON(a.buf, list)
}

// list appends a list of n elements, each of which element appends.
func (a *arguments) list(n int, element func(i int)) {
	a.buf = append(a.buf, '[')
	for i := range n {
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		element(i)
	}
	a.buf = append(a.buf, ']')
}

func (a *arguments) key(key string) {
	if len(a.buf) > 0 {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(jsontext.AppendString(a.buf, key), ':')
}
