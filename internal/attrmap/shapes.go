package attrmap

import (
	"math"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// shapeList collects the value of one shape attribute in each of its encodings:
// a list of numbers, of lists of numbers or of texts, or one text.
type shapeList struct {
	t      *target
	dims   []int64
	ends   []int32 // where each shape of the list ends in dims; -1 - end for a bad one, or unknownEnd
	depth  int
	nested bool // the list holds shapes, not dimensions
	flat   bool // the list holds dimensions
	bad    bool // the value as a whole cannot be read
	shape  bool // the shape under way is good
	rank   int  // its number of dimensions so far, kept or not
	tooBig bool
}

// unknownEnd stands among the ends for an element that says that a shape is not known.
const unknownEnd = math.MinInt32

func (s *shapeList) begin(t *target) {
	*s = shapeList{t: t, dims: s.dims[:0], ends: s.ends[:0]}
	s.startShape()
}

func (s *shapeList) startShape() { s.shape, s.rank = true, 0 }

func (s *shapeList) endShape() {
	if len(s.ends) == op.MaxInputs {
		s.tooBig = true
		return
	}
	end := int32(len(s.dims))
	if !s.shape {
		end = -1 - end
	}
	s.ends = append(s.ends, end)
	s.startShape()
}

// dim adds one dimension to the shape under way.
func (s *shapeList) dim(v int64) {
	if s.depth == 0 {
		if s.nested {
			s.badElement()
			return
		}
		s.flat = true
	}
	if v < op.Dynamic {
		s.shape = false
	}
	s.rank++
	if s.rank > op.MaxRank || len(s.ends) == op.MaxInputs {
		s.tooBig = true
		return
	}
	s.dims = append(s.dims, v)
}

func (s *shapeList) open() {
	s.depth++
	switch {
	case s.depth > 1:
		s.shape = false // an element that is a list of shapes
	case s.flat:
		s.bad = true
	}
	s.nested = true
}

func (s *shapeList) close() {
	s.depth--
	if s.depth == 0 {
		s.endShape()
	}
}

// badElement adds an element that is neither a shape nor a dimension.
func (s *shapeList) badElement() {
	s.shape = false
	if s.depth == 0 && !s.flat {
		s.nested = true
		s.endShape()
	}
}

// null adds an element of a list without a value.
func (s *shapeList) null() {
	if s.depth > 0 || s.flat {
		s.badElement()
		return
	}
	s.nested = true
	s.unknownShape()
}

// unknownShape adds a shape that is not known to a list.
func (s *shapeList) unknownShape() {
	if len(s.ends) == op.MaxInputs {
		s.tooBig = true
		return
	}
	s.ends = append(s.ends, unknownEnd)
	s.startShape()
}

// elementText adds an element of a list that is a text: a shape, or for an
// output's shape a dimension.
func (s *shapeList) elementText(v string) {
	if s.depth > 0 || s.t.field != FieldInputShapes {
		if n, ok := jsontext.ParseInt([]byte(v)); ok {
			s.dim(n)
			return
		}
	}
	if s.depth > 0 || s.flat {
		s.badElement()
		return
	}
	s.nested = true
	s.shapeText(v)
}

func (s *shapeList) shapeText(v string) {
	if len(s.ends) == op.MaxInputs {
		s.tooBig = true
		return
	}
	if s.t.field == FieldInputShapes && saysUnknown(v) {
		s.unknownShape()
		return
	}
	dims, ok := appendDims(s.dims, v)
	if n := len(dims) - len(s.dims); ok && n > op.MaxRank {
		s.tooBig = true
		dims = dims[:len(s.dims)+op.MaxRank]
	}
	s.dims, s.shape = dims, ok
	s.endShape()
}

// text sets the whole value from one text.
func (s *shapeList) text(v string) {
	s.nested = true
	if s.t.field != FieldInputShapes {
		s.shapeText(v)
		return
	}
	if !parseShapes(v, s.shapeText) {
		s.bad = true
	}
}

// end hands the collected shapes to the entry.
func (s *shapeList) end(b *Builder) {
	if !s.nested && (s.flat || s.t.field != FieldInputShapes) {
		s.endShape() // the flat form of one shape; no element at all is a scalar
	}
	if s.bad || s.t.field != FieldInputShapes && len(s.ends) != 1 {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	if s.tooBig {
		b.entry.Warn |= op.WarnShapeTruncated
	}
	switch s.t.field {
	case FieldInputShapes:
		s.setInputs(b)
	case fieldInputShapeAt:
		s.setInputAt(b)
	default:
		s.setOutput(b)
	}
}

func (s *shapeList) setInputs(b *Builder) {
	isGood := func(end int32) bool { return end >= 0 || end == unknownEnd }
	if len(s.ends) > 0 && !slices.ContainsFunc(s.ends, isGood) {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	if !b.claim(s.t) {
		return
	}
	if b.inputs == nil {
		b.inputs = make([]op.Shape, 0, max(len(s.ends), 2))
	}
	b.inputs, b.inputDims = b.inputs[:0], b.inputDims[:0]
	start := int32(0)
	for _, end := range s.ends {
		if end == unknownEnd {
			b.inputs = append(b.inputs, nil)
			continue
		}
		if end < 0 {
			end = -1 - end
			b.inputs = append(b.inputs, nil)
			b.entry.Warn |= op.WarnBadShape
		} else {
			b.inputs = append(b.inputs, b.copyInput(s.dims[start:end]))
		}
		start = end
	}
}

// copyInput copies dims behind the entry's other input shapes.
func (b *Builder) copyInput(dims []int64) op.Shape {
	start := len(b.inputDims)
	b.inputDims = append(b.inputDims, dims...)
	if b.inputDims == nil {
		return op.Shape{}
	}
	return op.Shape(b.inputDims[start:len(b.inputDims):len(b.inputDims)])
}

func (s *shapeList) setInputAt(b *Builder) {
	if s.ends[0] < 0 {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	if int(s.t.index) >= op.MaxInputs {
		b.entry.Warn |= op.WarnShapeTruncated
		return
	}
	all := target{field: FieldInputShapes, family: s.t.family}
	if b.from[FieldInputShapes] < all.family {
		b.inputs = b.inputs[:0]
	}
	if !b.claim(&all) {
		return
	}
	for len(b.inputs) <= int(s.t.index) {
		b.inputs = append(b.inputs, nil)
	}
	b.inputs[s.t.index] = b.copyInput(s.dims)
}

func (s *shapeList) setOutput(b *Builder) {
	if s.ends[0] < 0 {
		b.entry.Warn |= op.WarnBadShape
		return
	}
	if !b.claim(s.t) {
		return
	}
	b.setOutputShape(s.dims, s.tooBig)
}

// setOutputShape sets the output's shape to a copy of dims.
func (b *Builder) setOutputShape(dims []int64, truncated bool) {
	b.outputDims = append(b.outputDims[:0], dims...)
	if b.outputDims == nil {
		b.outputDims = make([]int64, 0, 4)
	}
	b.entry.OutputShape = op.Shape(b.outputDims)
	b.outputTruncated = truncated
}
