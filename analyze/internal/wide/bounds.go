package wide

import "slices"

// The bounds of what partial results may state, so that many of them are added up without
// an overflow: of counts, and of sums, as a power of two.
const (
	MaxCount   = 1 << 48
	maxSumBits = 176
)

// IsCount reports whether n is possible as a count.
func IsCount(n, limit int64) bool { return 0 <= n && n <= limit }

// IsPossible reports whether partial results may state the sum.
func (w Sum) IsPossible() bool { return w.Fits(maxSumBits) }

// ArePossible reports whether partial results may state all of the sums.
func ArePossible(sums ...Sum) bool {
	return !slices.ContainsFunc(sums, func(s Sum) bool { return !s.IsPossible() })
}
