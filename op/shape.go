package op

import (
	"math"
	"math/bits"
	"strconv"
)

// MaxRank and MaxInputs bound the shapes of one entry.
const (
	MaxRank   = 64
	MaxInputs = 1024
)

// Dynamic is the size of a dimension known only at run time.
const Dynamic = -1

// Shape is the dimensions of a tensor. nil means unknown, an empty non-nil Shape a scalar.
type Shape []int64

// Elements returns the product of the dimensions: 1 for a scalar, 0 if a dimension is 0, and unknown for a nil shape, a
// dynamic dimension or an overflow. The warning gives the reason.
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
	bad := false
	dynamic := false
	zero := false
	overflow := false
	for _, d := range s {
		if d <= 0 {
			bad = bad || d < Dynamic
			dynamic = dynamic || d == Dynamic
			zero = zero || d == 0
			continue
		}
		hi, lo := bits.Mul64(product, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			overflow = true
			lo = 1
		}
		product = lo
	}
	// Not in the loop: the result must not depend on the order of dimensions.
	switch {
	case bad:
		return Int{}, WarnBadShape
	case dynamic:
		return Int{}, WarnDynamicDim
	case zero:
		return Known(0), 0
	case overflow:
		return Int{}, WarnOverflow
	}
	return Known(int64(product)), 0
}

// String returns the dimensions joined by x, such as "64x784"; "scalar" for no
// dimensions, "?" for an unknown shape and for a dynamic dimension.
func (s Shape) String() string { return string(s.AppendText(nil)) }

// AppendText appends the text of String.
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

// AppendJSON appends the list of dimensions, null for an unknown shape.
func (s Shape) AppendJSON(dst []byte) []byte {
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
