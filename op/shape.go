package op

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxRank and MaxInputs bound the shapes of one entry.
const (
	MaxRank   = 64
	MaxInputs = 1024
)

// Dynamic is the size of a dimension that is known only at run time.
const Dynamic = -1

// Shape is the dimensions of a tensor. nil means unknown, an empty non-nil
// Shape a scalar.
type Shape []int64

// Elements returns the product of the dimensions: 1 for a scalar, 0 when a
// dimension is 0, and unknown for a nil shape, a dynamic dimension or a
// product that does not fit. The warning says which.
//
//	nil          unknown
//	[]           1
//	[2 3]        6
//	[2 -1]       unknown, WarnDynamicDim
//	[0 2^62 8]   0
//	[2^62 8]     unknown, WarnOverflow
func (s Shape) Elements() (Int, Warning) {
	if s == nil {
		return Int{}, 0
	}
	product := uint64(1)
	overflow, zero := false, false
	for _, d := range s {
		switch {
		case d < Dynamic:
			return Int{}, WarnBadShape
		case d == Dynamic:
			return Int{}, WarnDynamicDim
		case d == 0:
			zero = true
		default:
			hi, lo := bits.Mul64(product, uint64(d))
			if hi != 0 || lo > math.MaxInt64 {
				overflow, lo = true, 1
			}
			product = lo
		}
	}
	switch {
	case zero:
		return Known(0), 0
	case overflow:
		return Int{}, WarnOverflow
	}
	return Known(int64(product)), 0
}

// mulBytes returns elements × size, unknown with a warning where that does not fit.
func mulBytes(elements Int, size int64) (Int, Warning) {
	if !elements.Known {
		return Int{}, 0
	}
	hi, lo := bits.Mul64(uint64(elements.V), uint64(size))
	if hi != 0 || lo > math.MaxInt64 {
		return Int{}, WarnOverflow
	}
	return Known(int64(lo)), 0
}

// String returns the dimensions joined by x, such as "64x784"; "scalar" for no
// dimensions, "?" for an unknown shape and for a dynamic dimension.
func (s Shape) String() string { return string(s.AppendText(nil)) }

// AppendText appends what String returns.
func (s Shape) AppendText(dst []byte) []byte {
	if s == nil {
		return append(dst, '?')
	}
	if len(s) == 0 {
		return append(dst, "scalar"...)
	}
	for i, d := range s {
		if i > 0 {
			dst = append(dst, 'x')
		}
		if d == Dynamic {
			dst = append(dst, '?')
		} else {
			dst = strconv.AppendInt(dst, d, 10)
		}
	}
	return dst
}

func (s Shape) appendJSON(dst []byte) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, d := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, d, 10)
	}
	return append(dst, ']')
}

// ParseShape reads one shape as text: "64x784", "[64, 784]", "(64, 784)",
// "64,784", "64", or "[]" and "()" for a scalar. Spaces are allowed anywhere
// between numbers.
func ParseShape(text string) (Shape, bool) {
	dims, ok := appendDims(make(Shape, 0, 4), text)
	if !ok {
		return nil, false
	}
	return dims, true
}

// appendDims appends the dimensions that text holds. It keeps at most
// MaxRank+1 of them, enough to tell that there were too many.
func appendDims(dst Shape, text string) (Shape, bool) {
	p := shapeText{rest: strings.TrimSpace(text)}
	closing := p.opening()
	base := len(dst)
	if closing != 0 && p.accept(closing) {
		return dst, p.atEnd()
	}
	for {
		d, ok := p.number()
		if !ok {
			return dst[:base], false
		}
		if len(dst)-base <= MaxRank {
			dst = append(dst, d)
		}
		switch {
		case closing != 0 && p.accept(closing):
			return dst, p.atEnd()
		case closing == 0 && p.atEnd():
			return dst, true
		case p.separator(closing == 0):
			if closing != 0 && p.accept(closing) { // Python's (3,)
				return dst, p.atEnd()
			}
		default:
			return dst[:base], false
		}
	}
}

// parseShapes reads a list of shapes as one text: "[[2,3],[3,4]]", or the text
// of a single shape. emit is called for each, with ok false for one that
// cannot be read; it returns false for a text that is no list of shapes.
func parseShapes(text string, emit func(dims string)) bool {
	text = strings.TrimSpace(text)
	p := shapeText{rest: text}
	closing := p.opening()
	if closing == 0 {
		if strings.ContainsAny(text, ";") || (strings.ContainsAny(text, "xX") && strings.Contains(text, ",")) {
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' }) {
				emit(part)
			}
			return true
		}
		emit(text)
		return true
	}
	if p.accept(closing) {
		return p.atEnd() // no inputs
	}
	p.skipSpace()
	if p.rest == "" || (p.rest[0] != '[' && p.rest[0] != '(') {
		emit(text) // one shape: "[2,3]"
		return true
	}
	for {
		p.skipSpace()
		if p.rest == "" || (p.rest[0] != '[' && p.rest[0] != '(') {
			return false
		}
		end := strings.IndexAny(p.rest, "])")
		if end < 0 {
			return false
		}
		emit(p.rest[:end+1])
		p.rest = p.rest[end+1:]
		if p.accept(closing) {
			return p.atEnd()
		}
		if !p.accept(',') {
			return false
		}
		if p.accept(closing) {
			return p.atEnd()
		}
	}
}

// shapeText is a cursor over the text of a shape.
type shapeText struct {
	rest string
	sep  byte
}

func (p *shapeText) skipSpace() {
	for p.rest != "" && (p.rest[0] == ' ' || p.rest[0] == '\t') {
		p.rest = p.rest[1:]
	}
}

// opening consumes a bracket and returns the one that closes it, or 0.
func (p *shapeText) opening() byte {
	switch {
	case p.accept('['):
		return ']'
	case p.accept('('):
		return ')'
	}
	return 0
}

func (p *shapeText) accept(c byte) bool {
	p.skipSpace()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// separator consumes what stands between two dimensions: a comma, or an x
// where the shape has no brackets. The first one decides for the rest.
func (p *shapeText) separator(bare bool) bool {
	switch {
	case p.sep != 'x' && p.accept(','):
		p.sep = ','
	case p.sep != ',' && bare && (p.accept('x') || p.accept('X')):
		p.sep = 'x'
	default:
		return false
	}
	return true
}

func (p *shapeText) atEnd() bool {
	p.skipSpace()
	return p.rest == ""
}

func (p *shapeText) number() (int64, bool) {
	p.skipSpace()
	n := 0
	if n < len(p.rest) && p.rest[n] == '-' {
		n++
	}
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		n++
	}
	d, err := strconv.ParseInt(p.rest[:n], 10, 64)
	if err != nil || d < Dynamic {
		return 0, false
	}
	p.rest = p.rest[n:]
	return d, true
}
