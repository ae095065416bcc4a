package attrmap

import (
	"strings"

	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

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

// appendDims appends the dimensions in text: "64x784", "[64, 784]", "(64, 784)", "64,784", "64", or "[]" and "()" for a
// scalar. Spaces between numbers are allowed, and integral numbers with a fraction, as in "[2.0]". It appends at most
// MaxRank+1: enough to show an excess.
func appendDims(dst op.Shape, text string) (dims op.Shape, ok bool) {
	const space, spaceAndQuotes = " \t\n\r", " \t\n\r\""
	separator := ","
	around := space
	p := shapeText{rest: text}
	if closing := p.opening(); closing != 0 {
		if text, ok = strings.CutSuffix(strings.TrimRight(p.rest, space), string(rune(closing))); !ok {
			return dst, false
		}
		if text = strings.Trim(text, space); text == "" {
			return dst, true
		}
		text = strings.TrimSuffix(text, ",") // Python's (3,)
		around = spaceAndQuotes              // numbers as texts
	} else if text = strings.ToLower(text); strings.Contains(text, "x") {
		separator = "x"
	}
	base := len(dst)
	for part := range strings.SplitSeq(text, separator) {
		d, ok := scalar.ParseInt([]byte(strings.Trim(part, around)))
		if !ok || d < op.Dynamic {
			return dst[:base], false
		}
		if len(dst)-base <= op.MaxRank {
			dst = append(dst, d)
		}
	}
	return dst, true
}

// parseShapes splits a list of shapes in one text:
//
//	[[2,3],[3,4]]     JSON or Python, also with parentheses
//	["2x3","3x4"]     a list of texts, as in Jaeger
//	[[2,3],null]      with an unknown shape, also None or ?
//	2x3,3x4  2,3;3,4  a bare list
//	[2,3]  2x3        one shape
//
// It calls emit with the text of each shape. It returns false for any other text.
func parseShapes(text string, emit func(shape string)) bool {
	p := shapeText{rest: text}
	closing := p.opening()
	if closing == 0 {
		emitBare(text, emit)
		return true
	}
	if p.accept(closing) {
		return p.atEnd() // no inputs
	}
	if !strings.ContainsRune(`nN?`, rune(p.next())) && !strings.ContainsAny(p.rest, `[("'`) {
		emit(text)
		return true
	}
	for {
		shape, ok := p.element()
		if !ok {
			return false
		}
		emit(shape)
		if p.accept(closing) {
			return p.atEnd()
		}
		if !p.accept(',') {
			return false
		}
	}
}

func saysUnknown(text string) bool {
	switch strings.TrimSpace(text) {
	case "?", "null", "None":
		return true
	}
	return false
}

// emitBare splits a list without brackets. A comma separates shapes if an x separates dimensions, else dimensions.
func emitBare(text string, emit func(shape string)) {
	separator := ""
	switch {
	case strings.Contains(text, ";"):
		separator = ";"
	case strings.ContainsAny(text, "xX"):
		separator = ","
	default:
		emit(text)
		return
	}
	for shape := range strings.SplitSeq(text, separator) {
		emit(shape)
	}
}

// shapeText is a cursor over the text of a list of shapes.
type shapeText struct{ rest string }

// next returns the first byte other than a space, 0 at the end.
func (p *shapeText) next() byte {
	for p.rest != "" {
		switch c := p.rest[0]; c {
		case ' ', '\t', '\n', '\r':
			p.rest = p.rest[1:]
		default:
			return c
		}
	}
	return 0
}

func (p *shapeText) atEnd() bool { return p.next() == 0 && p.rest == "" }

func (p *shapeText) accept(c byte) bool {
	if p.next() != c || p.rest == "" {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// opening consumes a bracket and returns its closing one, or 0.
func (p *shapeText) opening() byte {
	switch {
	case p.accept('['):
		return ']'
	case p.accept('('):
		return ')'
	}
	return 0
}

// element consumes a bracketed element, a quoted text, or a word. Any word but an unknown shape is "".
func (p *shapeText) element() (text string, ok bool) {
	switch c := p.next(); c {
	case '[', '(':
		n := bracketed(p.rest)
		text = p.rest[:n]
		p.rest = p.rest[n:]
		return text, n > 0
	case '"', '\'':
		text, p.rest, ok = strings.Cut(p.rest[1:], string(rune(c)))
		return text, ok
	}
	n := strings.IndexAny(p.rest, ",])")
	if n < 0 {
		return "", false
	}
	if text, p.rest = p.rest[:n], p.rest[n:]; !saysUnknown(text) {
		text = ""
	}
	return text, true
}

func bracketed(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[', '(':
			depth++
		case ']', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
