package flops

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// matmul counts a product of matrices, or of batches of them, by the rules of NumPy's matmul: 2·m·n·k for each
// product of m×k and k×n. The output tells whether operands are transposed; without it they are not.
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

// grouped counts PyTorch's product of groups of rows or of columns, such as the tokens of experts, each by the matrix of its
// group.
func grouped(o operands) result {
	a, b := o.input(0), o.input(1)
	switch {
	case len(a) == 2 && len(b) == 3:
		b = b[1:]
	case len(a) == 3 && len(b) == 2:
		a = a[1:]
	}
	return matmul(operands{in: []op.Shape{a, b}})
}

// gemm counts ONNX's product of two matrices plus an optional third. If ONNX Runtime has packed the second matrix, the
// third becomes the second input.
func gemm(o operands) result {
	if b := o.input(1); len(b) < 2 && len(o.input(0)) == 2 && o.out != nil {
		return multiplyBy(o.input(0), o.out)
	}
	return matmul(o)
}

// multiplyBy counts a product of a and unrecorded matrices, such as packed weights of ONNX Runtime, by the
// dimensions of a missing from the output.
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

// multiply counts a product with the given transpositions, and with the output out unless it is nil.
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

// addedProduct counts a product added to the first input. The addition does not count.
func addedProduct(o operands) result {
	r := matmul(operands{in: o.in[min(1, len(o.in)):], out: o.out})
	r.operand = 1
	return r
}

// quantized returns the formula of a function of two inputs, each followed by its scale and zero point.
func quantized(of func(operands) result) func(operands) result {
	return func(o operands) result { return of(operands{in: []op.Shape{o.input(0), o.input(3)}, out: o.out}) }
}

// linear counts a layer that multiplies the last dimension of its first input by a matrix of weights. Either dimension
// of the weights may be the output's.
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
	k0 := len(x) - 1
	if o.out != nil && (len(o.out) != len(x) || !slices.Equal(o.out[:k0], x[:k0]) || o.out[k0] != n) {
		return noResult()
	}
	outputs := times(elements(x[:len(x)-1]), n)
	return result{flops: times(times(outputs, k), 2), elements: outputs}
}

// kernelProduct counts a library kernel for products. It has the inputs of the launching operator, two matrices or an
// addend and two matrices, and no output.
func kernelProduct(o operands) result {
	if o.out != nil {
		return noResult()
	}
	if len(o.in) == 2 {
		return matmul(o)
	}
	return addedProduct(o)
}

// attention counts two batches of products, including masked elements and without the softmax between them:
// 2·(d+e)·q·k for each head, with the sizes d and e of a key and a value. Shapes are [batch, length, size] or
// [batch, heads, length, size].
func attention(o operands) result {
	q := o.input(0)
	k := o.input(1)
	v := o.input(2)
	n := len(q)
	if n != 3 && n != 4 || len(k) != n || len(v) != n {
		return noResult()
	}
	if k[0] != q[0] || v[0] != q[0] || k[n-1] != q[n-1] || k[n-2] != v[n-2] {
		return noResult()
	}
	if n == 4 && (k[1] != v[1] || k[1] < 1 || q[1]%k[1] != 0) { // query heads may share key heads
		return noResult()
	}
	rows := elements(q[:n-1])
	if o.out != nil && (len(o.out) != n || !slices.Equal(o.out[:n-1], q[:n-1]) || o.out[n-1] != v[n-1]) {
		return noResult()
	}
	outputs := times(rows, v[n-1])
	return result{flops: times(plus(times(rows, q[n-1]), outputs), 2*k[n-2]), elements: outputs}
}

// attentionGradients counts the five products of the gradients, with the products of the forward pass computed again:
// 2.5 times those, as FlashAttention counts them. The first input is the gradient of the output.
func attentionGradients(o operands) result {
	r := attention(operands{in: []op.Shape{o.input(1), o.input(2), o.input(3)}})
	r.flops = times(r.flops, 5)
	if r.flops != unknown {
		r.flops /= 2
	}
	return r
}

// lengthsFirst counts work of inputs [batch, length, heads, size]. The lengths of packed sequences are not known.
func lengthsFirst(count func(operands) result) func(operands) result {
	const most = 4 // inputs that count
	return func(o operands) result {
		var in [most]op.Shape
		for i := range in[:min(most, len(o.in))] {
			if s := o.in[i]; len(s) == 4 {
				in[i] = op.Shape{s[0], s[2], s[1], s[3]}
			}
		}
		return count(operands{in: in[:]})
	}
}

// anyAttention is attention for shapes without heads, because heads may come before or after the length.
func anyAttention(o operands) result {
	if len(o.input(0)) != 3 {
		return noResult()
	}
	return attention(o)
}

// multiHeadAttention is attention without cached keys and values, which may have any length.
func multiHeadAttention(o operands) result {
	if len(o.input(6)) > 0 {
		return noResult()
	}
	return attention(o)
}

// onnxAttention counts ONNX's Attention and the ONNX Runtime operator of the same name. The latter first multiplies its
// input by weights for queries, keys and values of equal size.
func onnxAttention(o operands) result {
	x := o.input(0)
	w := o.input(1)
	switch {
	case len(o.input(4)) > 0: // cached keys and values of any length
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

// Shapes of ggml omit leading dimensions of 1, and weights come first: weights [n,k] times activations [m,k] is [m,n].

// fromEnd returns dimension i from the end, or 1 before the first dimension.
func fromEnd(s op.Shape, i int) int64 {
	if i < len(s) {
		return s[len(s)-1-i]
	}
	return 1
}

// weighted counts ggml's product of a matrix, or of a repeated batch, and the transpose of another.
func weighted(o operands) result {
	a := o.input(0)
	b := o.input(1)
	k := fromEnd(a, 0)
	outputs := elements(o.out)
	if len(a) == 0 || len(b) == 0 || k < 1 || fromEnd(b, 0) != k {
		return noResult()
	}
	if fromEnd(o.out, 0) != fromEnd(a, 1) || fromEnd(o.out, 1) != fromEnd(b, 1) {
		return noResult()
	}
	if all := elements(b); all == unknown || outputs != times(all/k, fromEnd(a, 1)) {
		return noResult()
	}
	return result{flops: times(times(outputs, k), 2), elements: outputs}
}

// weightedByExpert counts a product with the matrices of [experts,n,k] listed by the third input for each token. The
// matrices read are known for a single token only.
func weightedByExpert(o operands) result {
	a := o.input(0)
	b := o.input(1)
	ids := o.input(2)
	k := fromEnd(a, 0)
	n := fromEnd(a, 1)
	outputs := times(elements(ids), n)
	if len(a) != 3 || len(b) == 0 || k < 1 || fromEnd(b, 0) != k || outputs == unknown || outputs != elements(o.out) {
		return noResult()
	}
	r := result{flops: times(times(outputs, k), 2), elements: outputs, more: true}
	if len(ids) == 1 {
		r.more = false
		r.first = times(times(ids[0], n), k)
	}
	return r
}

// flashAttention is attention with the output [length, heads, size].
func flashAttention(o operands) result {
	q := o.input(0)
	k := o.input(1)
	v := o.input(2)
	d := fromEnd(q, 0)
	e := fromEnd(v, 0)
	keys := fromEnd(k, 1)
	if len(q) == 0 || len(k) == 0 || len(v) == 0 || d < 1 || fromEnd(k, 0) != d || fromEnd(v, 1) != keys {
		return noResult()
	}
	rows := elements(q) / d
	if elements(q) == unknown || times(rows, e) != elements(o.out) {
		return noResult()
	}
	return result{flops: times(times(rows, plus(d, e)), times(2, keys)), elements: elements(o.out)}
}
