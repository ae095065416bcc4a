package flops

import (
	"slices"

	"github.com/optrace/optrace/op"
)

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

// groupsFit reports whether a kernel with ofKernel channels divides inputs and outputs into groups.
func groupsFit(inputs, ofKernel, outputs int64) bool {
	return ofKernel > 0 && inputs > 0 && inputs%ofKernel == 0 && outputs%(inputs/ofKernel) == 0
}

// covers reports whether an input is at least as large as a kernel in every dimension.
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
