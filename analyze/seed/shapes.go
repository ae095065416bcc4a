package seed

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/op"
)

// entryShapes are the shapes of an entry.
type entryShapes struct {
	inputs []op.Shape
	output op.Shape
}

// shapesOf returns the index of e's shapes in t.shaped.
func (t *Columns) shapesOf(e *op.Entry) int32 {
	t.scratch = appendShapeKey(t.scratch[:0], e)
	if i, ok := t.shapes[string(t.scratch)]; ok { // does not allocate
		return i
	}
	s := entryShapes{output: slices.Clone(e.OutputShape)}
	if e.InputShapes != nil {
		s.inputs = make([]op.Shape, len(e.InputShapes))
		for i, shape := range e.InputShapes {
			s.inputs[i] = slices.Clone(shape)
		}
	}
	if t.shapes == nil {
		t.shapes = make(map[string]int32)
	}
	i := int32(len(t.shaped))
	t.shapes[string(t.scratch)] = i
	t.shaped = append(t.shaped, s)
	return i
}

// appendShapeKey appends an encoding of e's shapes, different for different
// shapes.
func appendShapeKey(dst []byte, e *op.Entry) []byte {
	dst = appendDims(dst, e.OutputShape)
	if e.InputShapes == nil {
		return dst
	}
	dst = append(dst, 1)
	for _, s := range e.InputShapes {
		dst = appendDims(dst, s)
	}
	return dst
}

// appendDims appends the rank plus 1, 0 for an unknown shape, and the dimensions.
func appendDims(dst []byte, s op.Shape) []byte {
	if s == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	for _, d := range s {
		dst = binary.AppendVarint(dst, d)
	}
	return dst
}
