package opfile

import "github.com/optrace/optrace/op"

// AppendShapes appends the shapes and the element type of the entry, such as "64x784,784x256->64x256:f32": the inputs
// and the output in the form of [op.Shape.String], and the type. It appends no text if all are unknown.
func AppendShapes(dst []byte, e *op.Entry) []byte {
	if e.InputShapes == nil && e.OutputShape == nil && e.DType == "" {
		return dst
	}
	if e.InputShapes == nil {
		dst = append(dst, '?')
	}
	for i, s := range e.InputShapes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.AppendText(dst)
	}
	dst = e.OutputShape.AppendText(append(dst, "->"...))
	if e.DType != "" {
		dst = append(append(dst, ':'), e.DType...)
	}
	return dst
}
