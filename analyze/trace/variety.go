package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Variety holds the shapes and element types of an entry.
type Variety struct {
	InputShapes []op.Shape
	OutputShape op.Shape
	DType       op.DType
	InputDTypes []op.DType
}

// Varieties numbers distinct varieties. Number 0 is the empty variety.
type Varieties struct {
	// Values lists the varieties by number.
	Values []Variety

	texts   symbols.Texts
	scratch []byte
}

// id returns the number of v. It stores a copy of a new variety.
func (t *Varieties) id(v Variety) int32 {
	t.scratch = v.appendTo(t.scratch[:0])
	id := t.texts.ID(t.scratch)
	if int(id) == len(t.Values) {
		v.InputShapes = slices.Clone(v.InputShapes)
		for i, s := range v.InputShapes {
			v.InputShapes[i] = slices.Clone(s)
		}
		v.OutputShape = slices.Clone(v.OutputShape)
		v.InputDTypes = slices.Clone(v.InputDTypes)
		t.Values = append(t.Values, v)
	}
	return id
}

// appendTo appends v in an injective encoding. Empty differs from unknown.
func (v *Variety) appendTo(dst []byte) []byte {
	dst = v.OutputShape.AppendJSON(op.AppendShapesJSON(dst, v.InputShapes))
	for _, t := range v.InputDTypes {
		dst = key.AppendCounted(append(dst, ','), string(t))
	}
	mark := byte(':')
	if v.InputDTypes == nil {
		mark = ';'
	}
	return append(append(dst, mark), v.DType...)
}
