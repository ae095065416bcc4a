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

// convolution counts 2·c·w for each element of the output, which must be known: a sum over the c channels of its group
// and the w positions of the kernel. Channels come first ([N,C,…], [M,C/groups,…]) or last ([N,…,C], […,C/groups,M]).
func convolution(o operands) result {
	x := o.input(0)
	w := o.input(1)
	n := len(x)
	if n < 3 || len(w) != n || len(o.out) != n || o.out[0] != x[0] {
		return noResult()
	}
	outputs := elements(o.out)
	first, last := int64(unknown), int64(unknown)
	if groupsFit(x[1], w[1], w[0]) && o.out[1] == w[0] {
		first = elements(w[1:])
	}
	if groupsFit(x[n-1], w[n-2], w[n-1]) && o.out[n-1] == w[n-1] {
		last = elements(w[:n-1])
	}
	if first == unknown {
		first = last
	} else if last != unknown && last != first {
		// Both layouts fit, unless only one has a kernel within its input.
		asFirst := covers(x[2:], w[2:])
		asLast := covers(x[1:n-1], w[:n-2])
		if asFirst == asLast {
			return noResult()
		}
		if asLast {
			first = last
		}
	}
	if first == unknown {
		return noResult()
	}
	return result{flops: times(times(outputs, first), 2), elements: outputs}
}

// convolutionGradients counts one product for the gradients of a convolution: 2·c·w for each element of the gradient of
// its output, the first input. A kernel computes the gradient of the input or of the weights.
func convolutionGradients(o operands) result {
	return convolution(operands{in: []op.Shape{o.input(1), o.input(2)}, out: o.input(0)})
}

// groupsFit reports whether a kernel with ofKernel channels divides inputs and outputs into groups.
func groupsFit(inputs, ofKernel, outputs int64) bool {
	return ofKernel > 0 && inputs > 0 && inputs%ofKernel == 0 && outputs%(inputs/ofKernel) == 0
}

func covers(input, kernel op.Shape) bool {
	for i, d := range kernel {
		if d > input[i] {
			return false
		}
	}
	return true
}

// transposedConvolution counts 2·m·w for each element of the input, which is multiplied by the w positions of m kernels
// ([C,M/groups,…]) and added to the output.
func transposedConvolution(o operands) result {
	x := o.input(0)
	w := o.input(1)
	n := len(x)
	if n < 3 || len(w) != n || w[0] != x[1] || w[1] < 1 {
		return noResult()
	}
	fits := o.out == nil || len(o.out) == n && o.out[0] == x[0] && o.out[1]%w[1] == 0
	if !fits || slices.Contains(o.out, op.Dynamic) {
		return noResult()
	}
	each := elements(w[1:])
	if each == unknown {
		return noResult()
	}
	return result{flops: times(times(elements(x), each), 2), elements: unknown}
}
