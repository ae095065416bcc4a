package flops

import (
	"cmp"

	"github.com/optrace/optrace/op"
)

type elementTypes struct {
	in    []op.DType // nil if all inputs have type out
	out   op.DType
	count int // of the inputs
}

func (t *elementTypes) input(i int) op.DType {
	switch {
	case t.in == nil:
		return t.out
	case i < len(t.in):
		return t.in[i]
	}
	return ""
}

// computed returns the type of the computation: the first known input type from operand on.
func (t *elementTypes) computed(operand int) op.DType {
	for i := operand; i < t.count; i++ {
		if d := t.input(i); d != "" {
			return d
		}
	}
	return t.out
}

func (t *elementTypes) output() op.DType {
	common := t.out
	if common != "" {
		return common
	}
	for _, d := range t.in {
		switch {
		case d == "" || d == common:
		case common == "":
			common = d
		default:
			return ""
		}
	}
	return common
}

func (o operands) bytes(t *elementTypes, r *result) int64 {
	all := o.outputElements(r.elements)
	if t.in == nil { // one type for all
		for i, s := range o.in {
			if i == 0 && r.first > 0 {
				all = plus(all, r.first)
				continue
			}
			all = plus(all, elements(s))
		}
		return sized(all, t.out)
	}
	sum := sized(all, t.output())
	for i, s := range o.in {
		if i == 0 && r.first > 0 {
			sum = plus(sum, sized(r.first, t.input(0)))
			continue
		}
		sum = plus(sum, inputBytes(s, t.input(i)))
	}
	return sum
}

// bytesOfRows is bytes for an operation that reads only the output's size of the first input.
func (o operands) bytesOfRows(t *elementTypes, out int64) int64 {
	rows := o.outputElements(out)
	sum := plus(sized(rows, cmp.Or(t.input(0), t.output())), sized(rows, t.output()))
	for i, s := range o.in {
		if i > 0 {
			sum = plus(sum, inputBytes(s, t.input(i)))
		}
	}
	return sum
}

// inputBytes returns the size of an input. Without shape and type it is absent, such as an omitted bias. A scalar
// without type is a number in the call.
func inputBytes(s op.Shape, t op.DType) int64 {
	if len(s) == 0 && t == "" {
		return 0
	}
	return sized(elements(s), t)
}

func sized(n int64, t op.DType) int64 {
	each, size := t.Block()
	if size == 0 || n == unknown {
		return unknown
	}
	return times(n/each+min(n%each, 1), size)
}
