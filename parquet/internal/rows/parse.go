package rows

import (
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
)

// The functions below tell what the texts of columns mean, and a warning where
// they mean nothing.

// ParseInputDType reads the element type of an input, which brings no warning.
func ParseInputDType(name string) (op.DType, op.Warning) {
	t, _ := op.ParseDType(name)
	return t, 0
}

// ParseWarning reads a warning, 0 for a name that is unknown: a newer version may know
// more of them.
func ParseWarning(name string) (op.Warning, op.Warning) {
	w, _ := op.ParseWarning(name)
	return 0, w
}

// ShapeText is a shape that is kept as text.
type ShapeText struct {
	Shape op.Shape
	Cut   bool
}

// ParseShape reads a shape.
func ParseShape(name string) (s ShapeText, warning op.Warning) {
	shape, ok := attrmap.ParseShape(name)
	switch {
	case !ok:
		return ShapeText{}, op.WarnBadShape
	case len(shape) > op.MaxRank:
		return ShapeText{shape[:op.MaxRank], true}, op.WarnShapeTruncated
	}
	return ShapeText{shape, false}, 0
}
