package attrmap

import (
	"strings"

	"github.com/optrace/optrace/op"
)

// setShapes sets a field of shapes from text in any encoding of [ParseShape] and [parseShapes].
func (b *Builder) setShapes(t *target, text string) {
	if strings.TrimSpace(text) == "" {
		return // like an absent attribute
	}
	if t.field == FieldInputShapes {
		b.setInputs(t, text)
		return
	}
	dims, ok := appendDims(b.dims[:0], text)
	if b.dims = dims; !ok {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	truncated := len(dims) > op.MaxRank
	if truncated {
		dims = dims[:op.MaxRank]
		b.entry.Warn |= op.WarnShapeTruncated
	}
	if t.field == fieldInputShapeAt {
		b.setInputAt(t, dims)
	} else if b.claim(t) {
		b.setOutputShape(dims, truncated)
	}
}

type shapeList struct {
	shapes []op.Shape
	dims   []int64
	known  bool // a shape was readable or stated to be unknown
	warn   op.Warning
}

// add adds a shape from text. An unreadable one is unknown.
func (l *shapeList) add(text string) {
	if len(l.shapes) == op.MaxInputs {
		l.warn |= op.WarnShapeTruncated
		return
	}
	if saysUnknown(text) {
		l.shapes = append(l.shapes, nil)
		l.known = true
		return
	}
	start := len(l.dims)
	dims, ok := appendDims(l.dims, text)
	if !ok {
		l.shapes = append(l.shapes, nil)
		l.warn |= op.WarnBadShape
		return
	}
	if len(dims)-start > op.MaxRank {
		dims = dims[:start+op.MaxRank]
		l.warn |= op.WarnShapeTruncated
	}
	l.dims = dims
	l.known = true
	l.shapes = append(l.shapes, dims[start:len(dims):len(dims)])
}

func (b *Builder) setInputs(t *target, text string) {
	l := shapeList{shapes: b.spare.shapes[:0], dims: b.spare.dims[:0]}
	if l.shapes == nil {
		l.shapes = make([]op.Shape, 0, 2)
		l.dims = make([]int64, 0, 4)
	}
	ok := parseShapes(text, l.add)
	b.spare = l
	if !ok || !l.known && len(l.shapes) > 0 {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	b.entry.Warn |= l.warn
	if b.claim(t) {
		b.spare.shapes = b.inputs
		b.spare.dims = b.inputDims
		b.inputs = l.shapes
		b.inputDims = l.dims
	}
}

func (b *Builder) setInputAt(t *target, dims []int64) {
	if int(t.index) >= op.MaxInputs {
		b.entry.Warn |= op.WarnShapeTruncated
		return
	}
	all := target{field: FieldInputShapes, family: t.family}
	if b.from[FieldInputShapes] < all.family {
		b.inputs = b.inputs[:0]
	}
	if !b.claim(&all) {
		return
	}
	for len(b.inputs) <= int(t.index) {
		b.inputs = append(b.inputs, nil)
	}
	start := len(b.inputDims)
	if b.inputDims = append(b.inputDims, dims...); b.inputDims == nil {
		b.inputDims = make([]int64, 0, 4)
	}
	b.inputs[t.index] = op.Shape(b.inputDims[start:len(b.inputDims):len(b.inputDims)])
}

func (b *Builder) setOutputShape(dims []int64, truncated bool) {
	b.outputDims = append(b.outputDims[:0], dims...)
	if b.outputDims == nil {
		b.outputDims = make([]int64, 0, 4)
	}
	b.entry.OutputShape = op.Shape(b.outputDims)
	b.outputTruncated = truncated
}
