package analyze

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

// shapesOf returns the number of e's shapes.
func (t *ColumnTrace) shapesOf(e *op.Entry) int32 {
	t.scratch = appendShapeKey(t.scratch[:0], e)
	if id, ok := t.shapes.ids[string(t.scratch)]; ok { // does not allocate
		return id
	}
	s := entryShapes{output: slices.Clone(e.OutputShape)}
	if e.InputShapes != nil {
		s.inputs = cloneShapes(e.InputShapes)
	}
	t.shaped = append(t.shaped, s)
	return t.shapes.id(string(t.scratch))
}

// appendShapeKey appends e's shapes in a form that differs for different ones.
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

// appendDims appends the rank, 0 for an unknown shape and otherwise one more,
// and the dimensions.
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
