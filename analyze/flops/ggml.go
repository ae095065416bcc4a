package flops

import "github.com/optrace/optrace/op"

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
