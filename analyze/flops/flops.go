package flops

import (
	"math"
	"math/bits"

	"github.com/optrace/optrace/op"
)

// Work is what an operation does, as far as that is known.
type Work struct {
	// FLOPs is the number of arithmetic operations on elements, those on integers
	// included; a multiplication and an addition are two.
	FLOPs op.Int
	// Bytes is the size of the inputs that are read and of the output that is
	// written, each once.
	Bytes op.Int
	// DType is the element type that is computed with, "" where it is not known.
	DType op.DType
}

// Of returns the work of an operation that computes; that of any other kind is
// unknown. FLOPs that e records have no effect.
func Of(e *op.Entry) Work { return Find(e.Operation).Of(e) }

// Formula counts the work of operations of some names. That of a nil *Formula is unknown.
type Formula struct {
	count func(o operands) result
	moves moves
}

// Of is the function Of for an operation whose name the formula was found by.
func (f *Formula) Of(e *op.Entry) Work {
	if f == nil || e.Kind != op.KindCompute && e.Kind != op.KindUnknown || e.InputShapes == nil && e.OutputShape == nil {
		return Work{}
	}
	o := operands{in: e.InputShapes, out: e.OutputShape}
	r := f.count(o)
	if r.flops == unknown {
		return Work{}
	}
	types := elementTypes{in: e.InputDTypes, out: e.DType, count: len(e.InputShapes)}
	w := Work{FLOPs: op.Known(r.flops), DType: types.computed(r.operand)}
	if w.DType == op.C64 || w.DType == op.C128 {
		return Work{} // the formulas count real numbers
	}
	switch {
	case r.more:
	case f.moves == movesAll:
		w.Bytes = known(o.bytes(&types, &r))
	case f.moves == movesRows:
		w.Bytes = known(o.bytesOfRows(&types, r.elements))
	case f.moves == movesNothing:
		w.Bytes = op.Known(0)
	}
	return w
}

// unknown is a count that is not known.
const unknown = -1

func known(n int64) op.Int {
	if n == unknown {
		return op.Int{}
	}
	return op.Known(n)
}

func noResult() result { return result{flops: unknown, elements: unknown} }

type result struct {
	flops    int64
	elements int64 // of the output, as far as they follow from the inputs
	more     bool  // is read than the inputs
	operand  int   // the input whose element type is computed with
	first    int64 // elements of the first input that are read; 0 is all
}

type moves uint8

const (
	movesAll     moves = iota // all inputs and the output
	movesRows                 // as much of the first input as the output has, the other inputs and the output
	movesNothing              // none: the output is another view of the input's memory
	movesPerhaps              // all or nothing
)

type operands struct {
	in  []op.Shape
	out op.Shape
}

// input returns the shape of an input, nil where it is not known or not there.
func (o operands) input(i int) op.Shape {
	if i >= len(o.in) {
		return nil
	}
	return o.in[i]
}

// outputElements returns how many elements the output has: as recorded, or else as many
// as follow.
func (o operands) outputElements(follow int64) int64 {
	if o.out == nil {
		return follow
	}
	return elements(o.out)
}

// elements returns the number of elements of a shape.
func elements(s op.Shape) int64 {
	if s == nil {
		return unknown
	}
	n := uint64(1)
	for _, d := range s {
		hi, lo := bits.Mul64(n, uint64(d))
		if d <= 0 || hi != 0 || lo > math.MaxInt64 {
			return odd(s)
		}
		n = lo
	}
	return int64(n)
}

// odd is elements for a shape that has no elements, or whose number depends on what is not
// known, or may not fit, which the order of dimensions does not matter for.
func odd(s op.Shape) int64 {
	if n, _ := s.Elements(); n.Known {
		return n.V
	}
	return unknown
}

// times multiplies a count, which may be unknown. The product is unknown where the factor
// is negative and where it does not fit.
func times(n, factor int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(factor))
	if n < 0 || factor < 0 || hi != 0 || lo > math.MaxInt64 {
		return unknown
	}
	return int64(lo)
}

// plus adds counts, which may be unknown.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 || a+b < a {
		return unknown
	}
	return a + b
}
