// Package apportion divides integers into integer parts with the same sum.
package apportion

import (
	"cmp"
	"math/bits"
	"slices"
)

// By divides total in proportion to weights. sum is the sum of weights and must not be 0. By rounds parts down, and adds
// one to the parts with the largest remainders, earlier parts first.
func By(total int64, weights []int64, sum uint64) []int64 {
	type remainder struct {
		part int
		of   uint64
	}
	left := total
	parts := make([]int64, len(weights))
	remainders := make([]remainder, len(weights))
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		part, rest := bits.Div64(hi, lo, sum)
		parts[i] = int64(part)
		remainders[i] = remainder{i, rest}
		left -= int64(part)
	}
	slices.SortStableFunc(remainders, func(a, b remainder) int { return cmp.Compare(b.of, a.of) })
	for i := range left {
		parts[remainders[i].part]++
	}
	return parts
}
