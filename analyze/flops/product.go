package flops

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// matmul counts a product of matrices, or of batches of them, by the rules of NumPy's
// matmul: 2·m·n·k for each matrix of m×n elements, each of them a sum of k products. The
// output tells whether operands are transposed; without it they are not.
func matmul(o operands) result {
	a := o.input(0)
	b := o.input(1)
	if a != nil && b == nil && o.out != nil {
		return multiplyBy(a, o.out)
	}
	if a == nil || b == nil {
		return noResult()
	}
	if o.out == nil {
		return multiply(a, b, nil, false, false)
	}
	for i := range 4 {
		if r := multiply(a, b, o.out, i&1 != 0, i&2 != 0); r.flops != unknown {
			return r
		}
	}
	return noResult()
}

// gemm counts ONNX's product of two matrices to which a third one may be added. That is the
// second input where ONNX Runtime has packed the matrix before it.
func gemm(o operands) result {
	if b := o.input(1); len(b) < 2 && len(o.input(0)) == 2 && o.out != nil {
		return multiplyBy(o.input(0), o.out)
	}
	return matmul(o)
}

// multiplyBy counts a product of a and matrices that are not recorded, such as weights that
// ONNX Runtime has packed: what is left of a's dimensions is summed over.
func multiplyBy(a, out op.Shape) result {
	n := len(a)
	if n < 2 || len(out) != n || !slices.Equal(a[:n-2], out[:n-2]) {
		return noResult()
	}
	k := a[n-1]
	if a[n-2] != out[n-2] {
		if k = a[n-2]; a[n-1] != out[n-2] { // not transposed either
			return noResult()
		}
	}
	return result{flops: times(times(elements(out), k), 2), elements: elements(out), more: true}
}

// multiply counts a product whose operands are transposed or not, and whose output is out
// unless that is nil.
func multiply(a, b, out op.Shape, transposeA, transposeB bool) result {
	m, k, ok := matrix(a, transposeA)
	if len(a) == 1 {
		m = 1
		k = a[0]
		ok = !transposeA
	}
	inner, n, fits := matrix(b, transposeB)
	if len(b) == 1 {
		inner = b[0]
		n = 1
		fits = !transposeB
	}
	if !ok || !fits || k != inner {
		return noResult()
	}
	var room [op.MaxRank]int64
	shape, ok := broadcast(room[:0], a[:max(0, len(a)-2)], b[:max(0, len(b)-2)])
	if !ok || len(shape)+2 > op.MaxRank {
		return noResult()
	}
	if len(a) > 1 {
		shape = append(shape, m)
	}
	if len(b) > 1 {
		shape = append(shape, n)
	}
	if out != nil && !slices.Equal(out, shape) {
		return noResult()
	}
	outputs := elements(shape)
	return result{flops: times(times(outputs, k), 2), elements: outputs}
}

func matrix(s op.Shape, transpose bool) (rows, columns int64, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	rows = s[len(s)-2]
	columns = s[len(s)-1]
	if transpose {
		rows, columns = columns, rows
	}
	return rows, columns, true
}

// addedProduct counts a product that is added to the first input, which is not counted.
func addedProduct(o operands) result {
	r := matmul(operands{in: o.in[min(1, len(o.in)):], out: o.out})
	r.operand = 1
	return r
}

// quantized returns the formula of a function of two inputs that come with a scale and a zero point each.
func quantized(of func(operands) result) func(operands) result {
	return func(o operands) result { return of(operands{in: []op.Shape{o.input(0), o.input(3)}, out: o.out}) }
}

// linear counts a layer that multiplies the last dimension of its first input by a matrix
// of weights, of which either dimension may be that of the outputs.
func linear(o operands) result {
	x := o.input(0)
	w := o.input(1)
	if len(x) == 0 || len(w) != 2 {
		return noResult()
	}
	k := x[len(x)-1]
	n := w[0]
	if w[1] != k {
		if n = w[1]; w[0] != k {
			return noResult()
		}
	}
	if o.out != nil && (len(o.out) != len(x) || !slices.Equal(o.out[:len(x)-1], x[:len(x)-1]) || o.out[len(x)-1] != n) {
		return noResult()
	}
	outputs := times(elements(x[:len(x)-1]), n)
	return result{flops: times(times(outputs, k), 2), elements: outputs}
}

// kernelProduct counts a kernel of a library for products, which has the inputs of the operator that launched it, two
// matrices or those behind what they are added to, and no output.
func kernelProduct(o operands) result {
	if o.out != nil {
		return noResult()
	}
	if len(o.in) == 2 {
		return matmul(o)
	}
	return addedProduct(o)
}

// attention counts two batches of products, without the softmax between them and with masked elements: 2·(d+e)·q·k for
// each head, where d and e are the sizes of a key and a value. The shapes are [batch, length, size] or [batch, heads,
// length, size].
func attention(o operands) result {
	q := o.input(0)
	k := o.input(1)
	v := o.input(2)
	n := len(q)
	if n != 3 && n != 4 || len(k) != n || len(v) != n || k[0] != q[0] || v[0] != q[0] || k[n-1] != q[n-1] || k[n-2] != v[n-2] {
		return noResult()
	}
	if n == 4 && (k[1] != v[1] || k[1] < 1 || q[1]%k[1] != 0) { // several heads of queries may share one of keys
		return noResult()
	}
	rows := elements(q[:n-1])
	if o.out != nil && (len(o.out) != n || !slices.Equal(o.out[:n-1], q[:n-1]) || o.out[n-1] != v[n-1]) {
		return noResult()
	}
	return result{flops: times(plus(times(rows, q[n-1]), times(rows, v[n-1])), 2*k[n-2]), elements: times(rows, v[n-1])}
}

// anyAttention is attention where it is not known whether heads come before or after the
// length, for shapes without heads.
func anyAttention(o operands) result {
	if len(o.input(0)) != 3 {
		return noResult()
	}
	return attention(o)
}

// multiHeadAttention is attention unless there are keys and values of earlier calls, whose
// length may be anything.
func multiHeadAttention(o operands) result {
	if len(o.input(6)) > 0 {
		return noResult()
	}
	return attention(o)
}

// onnxAttention counts ONNX's Attention, and the operator of ONNX Runtime of that name, which multiplies its input by the
// weights of queries, keys and values, of one size, first.
func onnxAttention(o operands) result {
	x := o.input(0)
	w := o.input(1)
	switch {
	case len(o.input(4)) > 0: // keys and values of earlier calls, whose length may be anything
		return noResult()
	case len(w) != 2:
		return attention(o)
	}
	if len(x) != 3 || len(o.out) != 3 || w[0] != x[2] || w[1]%3 != 0 || o.out[2] != w[1]/3 ||
		!slices.Equal(o.out[:2], x[:2]) {
		return noResult()
	}
	projected := times(times(elements(x), w[1]), 2)
	attended := times(times(elements(o.out), x[1]), 4)
	return result{flops: plus(projected, attended), elements: elements(o.out)}
}
