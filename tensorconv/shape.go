package tensorconv

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// InputShapes returns tensor.input.shapes, the dimensions of each input. No dimensions mean a scalar, nil an unknown
// shape, and [op.Dynamic] an unknown dimension. It copies shapes.
func InputShapes(shapes ...[]int64) attribute.KeyValue {
	values := make([]attribute.Value, len(shapes))
	for i, dims := range shapes {
		if dims != nil {
			values[i] = attribute.Int64SliceValue(dims)
		}
	}
	return attribute.Slice(attrkey.InputShapes, values...)
}

// InputShapesText returns tensor.input.shapes as strings such as "64x784", for backends without nested values. The
// SDK's limit on the length of values may turn one shape into another.
func InputShapesText(shapes ...[]int64) attribute.KeyValue {
	texts := make([]string, len(shapes))
	for i, dims := range shapes {
		texts[i] = shapeText(dims)
	}
	return InputShapesKey.StringSlice(texts)
}

// shapeText returns the text of op.Shape. Readers require brackets for scalars and dynamic dimensions.
func shapeText(dims []int64) string {
	switch {
	case dims == nil:
		return "?"
	case len(dims) == 0:
		return "[]"
	case slices.Min(dims) < 0:
		return attribute.Int64SliceValue(dims).String()
	}
	return op.Shape(dims).String()
}

// InputShapeAt returns tensor.input.<i>.shape, the dimensions of input i from 0, for backends without nested values and
// lists of strings.
func InputShapeAt(i int, dims ...int64) attribute.KeyValue {
	return attribute.Int64Slice(attrkey.InputShape(i), dims)
}

// OutputShape returns tensor.output.shape, the dimensions of the output. No dimensions mean a scalar, and [op.Dynamic]
// an unknown dimension. It copies dims.
func OutputShape(dims ...int64) attribute.KeyValue { return OutputShapeKey.Int64Slice(dims) }

// OutputElements returns tensor.output.elements, the number of elements of an output with unknown shape.
func OutputElements(n int64) attribute.KeyValue { return OutputElementsKey.Int64(n) }
