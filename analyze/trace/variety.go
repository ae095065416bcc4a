package trace

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Variety is what an entry tells of shapes and element types.
type Variety struct {
	InputShapes []op.Shape
	OutputShape op.Shape
	DType       op.DType
	InputDTypes []op.DType
}

// Varieties numbers distinct varieties. Number 0 tells nothing.
type Varieties struct {
	// Values holds the varieties by number.
	Values []Variety

	texts   symbols.Texts
	scratch []byte
}

// id returns the number of v, of which it keeps a copy.
func (t *Varieties) id(v Variety) int32 {
	t.scratch = v.appendTo(t.scratch[:0])
	id := t.texts.ID(t.scratch)
	if int(id) == len(t.Values) {
		v.InputShapes = slices.Clone(v.InputShapes)
		for i, s := range v.InputShapes {
			v.InputShapes[i] = slices.Clone(s)
		}
		v.OutputShape, v.InputDTypes = slices.Clone(v.OutputShape), slices.Clone(v.InputDTypes)
		t.Values = append(t.Values, v)
	}
	return id
}

// appendTo appends v in a form that differs for different ones, what is empty from what is not known.
func (v *Variety) appendTo(dst []byte) []byte {
	dst = appendLength(dst, len(v.InputShapes), v.InputShapes == nil)
	for _, s := range v.InputShapes {
		dst = appendDimensions(dst, s)
	}
	dst = key.AppendCounted(appendDimensions(dst, v.OutputShape), string(v.DType))
	dst = appendLength(dst, len(v.InputDTypes), v.InputDTypes == nil)
	for _, t := range v.InputDTypes {
		dst = key.AppendCounted(dst, string(t))
	}
	return dst
}

func appendDimensions(dst []byte, s op.Shape) []byte {
	dst = appendLength(dst, len(s), s == nil)
	for _, d := range s {
		dst = binary.AppendVarint(dst, d)
	}
	return dst
}

// appendLength appends the length of a list, distinct from one that is not known.
func appendLength(dst []byte, n int, unknown bool) []byte {
	if unknown {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(n)+1)
}
