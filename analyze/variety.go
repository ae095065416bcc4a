package analyze

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// variety notices that entries which are averaged over differ in what decides
// their cost: their shapes or their element types. What an entry does not tell
// is no difference.
type variety struct {
	// inputs and output are the first shapes seen, dtype and dtypes the first
	// element types.
	inputs []op.Shape
	output op.Shape
	dtype  op.DType
	dtypes []op.DType

	mixesInputs, mixesOutput, mixesDType, mixesDTypes bool
}

func (v *variety) add(e *op.Entry) {
	if !v.mixesInputs && e.InputShapes != nil {
		if v.inputs == nil {
			v.inputs = cloneShapes(e.InputShapes)
		} else {
			v.mixesInputs = !equalInputs(v.inputs, e.InputShapes)
		}
	}
	if !v.mixesOutput && e.OutputShape != nil {
		if v.output == nil {
			v.output = slices.Clone(e.OutputShape)
		} else {
			v.mixesOutput = !equalShapes(v.output, e.OutputShape)
		}
	}
	if !v.mixesDType && e.DType != "" {
		if v.dtype == "" {
			v.dtype = e.DType
		} else {
			v.mixesDType = !sameString(string(v.dtype), string(e.DType))
		}
	}
	if !v.mixesDTypes && e.InputDTypes != nil {
		if v.dtypes == nil {
			v.dtypes = slices.Clone(e.InputDTypes)
		} else {
			v.mixesDTypes = !slices.Equal(v.dtypes, e.InputDTypes)
		}
	}
}

// merge adds what o has seen, as if it were an entry: o's differences, and one
// between the first that o saw and the first that v saw.
func (v *variety) merge(o *variety) {
	v.add(&op.Entry{InputShapes: o.inputs, OutputShape: o.output, DType: o.dtype, InputDTypes: o.dtypes})
	v.mixesInputs = v.mixesInputs || o.mixesInputs
	v.mixesOutput = v.mixesOutput || o.mixesOutput
	v.mixesDType = v.mixesDType || o.mixesDType
	v.mixesDTypes = v.mixesDTypes || o.mixesDTypes
}

// mixes names what differs, never nil.
func (v *variety) mixes() []string {
	names := []string{}
	if v.mixesInputs || v.mixesOutput {
		names = append(names, "shape")
	}
	if v.mixesDType || v.mixesDTypes {
		names = append(names, "dtype")
	}
	return names
}

func equalInputs(a, b []op.Shape) bool {
	if len(a) != len(b) {
		return false
	}
	for i, s := range a {
		if !equalShapes(s, b[i]) {
			return false
		}
	}
	return true
}

// equalShapes tells an unknown shape from a scalar. Shapes have few dimensions,
// so that a loop in place costs less than a call.
func equalShapes(a, b op.Shape) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i, d := range a {
		if d != b[i] {
			return false
		}
	}
	return true
}

// cloneShapes copies shapes with all dimensions next to each other.
func cloneShapes(shapes []op.Shape) []op.Shape {
	n := 0
	for _, s := range shapes {
		n += len(s)
	}
	dims := make([]int64, 0, n)
	c := make([]op.Shape, len(shapes))
	for i, s := range shapes {
		if s != nil {
			start := len(dims)
			dims = append(dims, s...)
			c[i] = dims[start:len(dims):len(dims)]
		}
	}
	return c
}
