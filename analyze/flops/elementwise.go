package flops

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// elementwise returns the formula of an element-wise function with the given number of inputs and operations per
// element. Any function of one number counts as one operation.
func elementwise(inputs int, each int64) func(o operands) result {
	return func(o operands) result {
		outputs, more := o.broadcastOf(inputs)
		return result{flops: times(outputs, each), elements: outputs, more: more}
	}
}

// variadic counts one operation per element for each input but the first.
func variadic(o operands) result {
	if len(o.in) == 0 {
		return noResult()
	}
	outputs, _ := o.broadcastOf(len(o.in))
	return result{flops: times(outputs, int64(len(o.in)-1)), elements: outputs}
}

// broadcastOf returns the number of output elements of an element-wise function. more reports whether it has unrecorded
// inputs. The shapes must fit.
func (o operands) broadcastOf(inputs int) (outputs int64, more bool) {
	if len(o.in) < inputs {
		if o.out == nil {
			return unknown, false
		}
		return o.broadcastAll(o.in), true
	}
	given := o.in[:inputs]
	whole := o.out
	if whole == nil {
		whole = given[0]
	}
	for _, s := range given {
		if s == nil || !slices.Equal(s, whole) {
			return o.broadcastAll(given), false
		}
	}
	return elements(whole), false // the common case
}

// broadcastAll is broadcastOf for inputs with different shapes.
func (o operands) broadcastAll(inputs []op.Shape) int64 {
	var room, next [op.MaxRank]int64
	shape := op.Shape(room[:0])
	other := op.Shape(next[:0])
	for _, s := range inputs {
		if s == nil {
			return unknown
		}
		both, ok := broadcast(other[:0], shape, s)
		if !ok {
			return unknown
		}
		shape, other = both, shape
	}
	if o.out == nil {
		return elements(shape)
	}
	if both, ok := broadcast(other[:0], shape, o.out); !ok || elements(both) != elements(o.out) {
		return unknown
	}
	return elements(o.out)
}

// broadcast appends the common shape of a and b by NumPy's rules: dimensions are aligned at the end, and dimension 1
// is repeated.
func broadcast(dst op.Shape, a, b op.Shape) (op.Shape, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	dst = append(dst, a[:len(a)-len(b)]...)
	for i, d := range a[len(a)-len(b):] {
		switch {
		case d == b[i] || b[i] == 1:
			dst = append(dst, d)
		case d == 1:
			dst = append(dst, b[i])
		default:
			return nil, false
		}
	}
	return dst, true
}

// reduction returns the formula of a function with each operations per element of its first input.
func reduction(each int64) func(o operands) result {
	return func(o operands) result {
		n := elements(o.input(0))
		if o.out != nil {
			if left := elements(o.out); left == unknown || left > n {
				return noResult()
			}
		}
		return result{flops: times(n, each), elements: unknown}
	}
}

// normalization returns the formula of a function with each operations per element of its first input, or weighted
// operations if any input from the second to number last is not empty.
func normalization(each, weighted int64, last int) func(o operands) result {
	return func(o operands) result {
		n := elements(o.input(0))
		if o.out != nil && elements(o.out) != n {
			return noResult()
		}
		ops := each
		for i := 1; i <= min(last, len(o.in)-1); i++ {
			if len(o.in[i]) > 0 {
				ops = weighted
			}
		}
		return result{flops: times(n, ops), elements: n}
	}
}

// copied counts an operation that only moves elements.
func copied(o operands) result {
	if o.input(0) == nil {
		return noResult()
	}
	return result{flops: 0, elements: elements(o.out)}
}

// embedding counts reading rows of a table, [rows, size], by indices.
func embedding(o operands) result {
	table := o.input(0)
	indices := o.input(1)
	if len(table) != 2 || indices == nil {
		return noResult()
	}
	outputs := times(elements(indices), table[1])
	if o.out != nil && elements(o.out) != outputs {
		return noResult()
	}
	return result{flops: 0, elements: outputs}
}
