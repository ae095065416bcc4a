package flops

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Work is the known work of an operation.
type Work struct {
	// FLOPs is the number of arithmetic operations on elements, including integers. A multiply-add counts as two.
	FLOPs op.Int
	// Bytes is the size of the inputs and the output, each counted once.
	Bytes op.Int
	// DType is the element type of the computation, "" if unknown.
	DType op.DType
}

// Of returns the work of a computing operation; unknown for other kinds. It ignores FLOPs recorded in e.
func Of(e *op.Entry) Work { return Find(e.Operation).Of(e) }

// Formula computes the work of operations of some names. A nil *Formula returns unknown work.
type Formula struct {
	count  func(o operands) result
	moves  moves
	inputs int  // that count, 0 for all: PyTorch lists the output of mm(out=) behind them
	each   bool // element by element
	kernel bool // of a library, with the inputs of an operator
}

// Of returns the work of e, whose name must belong to the formula.
func (f *Formula) Of(e *op.Entry) Work {
	computes := e.Kind == op.KindCompute || e.Kind == op.KindUnknown
	if f == nil || !computes || e.InputShapes == nil && e.OutputShape == nil {
		return Work{}
	}
	share := int64(1)
	if f.kernel {
		if a := opmodel.FindAttr(e.Attrs, attrkey.LaunchShare); a != nil {
			n, _ := strconv.ParseInt(a.Value, 10, 64)
			share = max(1, n)
		}
		f = f.ofKernel(e.LaunchedBy)
	}
	if f.count == nil {
		return Work{}
	}
	o := operands{in: e.InputShapes, out: e.OutputShape}
	types := elementTypes{in: e.InputDTypes, out: e.DType}
	if f.inputs > 0 {
		o.in = o.in[:min(f.inputs, len(o.in))]
		types.in = types.in[:min(f.inputs, len(types.in))]
	}
	types.count = len(o.in)
	r := f.count(o)
	if r.flops == unknown {
		return Work{}
	}
	w := Work{FLOPs: op.Known(r.flops / share), DType: types.computed(r.operand)}
	if w.DType == op.C64 || w.DType == op.C128 {
		return Work{} // formulas count real numbers
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
	w.Bytes.V /= share
	return w
}

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
	elements int64 // of the output, if they follow from the inputs
	more     bool  // reads more than the inputs
	operand  int   // the input with the element type of the computation
	first    int64 // elements read of the first input; 0 is all
}

type moves uint8

const (
	movesAll     moves = iota // all inputs and the output
	movesRows                 // the output's size of the first input, the other inputs and the output
	movesNothing              // no bytes: the output is a view of the input
	movesPerhaps              // all or nothing
)

type operands struct {
	in  []op.Shape
	out op.Shape
}

func (o operands) input(i int) op.Shape {
	if i >= len(o.in) {
		return nil
	}
	return o.in[i]
}

// outputElements returns the number of elements of the output as recorded, or else follow.
func (o operands) outputElements(follow int64) int64 {
	if o.out == nil {
		return follow
	}
	return elements(o.out)
}

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

// odd is elements for a shape without elements, with unknown dimensions, or with a product that may overflow
// in this order.
func odd(s op.Shape) int64 {
	if n, _ := s.Elements(); n.Known {
		return n.V
	}
	return unknown
}

// times multiplies counts. The product is unknown if a factor is unknown or negative, or if it overflows.
func times(n, factor int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(factor))
	if n < 0 || factor < 0 || hi != 0 || lo > math.MaxInt64 {
		return unknown
	}
	return int64(lo)
}

// plus adds counts. The sum is unknown if one of them is, or if it overflows.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 || a+b < a {
		return unknown
	}
	return a + b
}
