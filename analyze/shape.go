package analyze

import "github.com/optrace/optrace/op"

// appendShapeText appends the shapes and the element type of an entry:
// "64x784,784x256->64x256:f32". It appends nothing where none of the three is
// known.
func appendShapeText(dst []byte, e *op.Entry) []byte {
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
