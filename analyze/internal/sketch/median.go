package sketch

import "slices"

// Median returns the median of values, the lower of two. It does not change values, which must not be empty.
func Median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[Place(int64(len(sorted)), 50)]
}

// Counts counts times by ns, up to its length.
type Counts []int32

// Median returns the median of at least so many times, otherwise other.
func (t Counts) Median(least int32, other int64) int64 {
	n := int32(0)
	for _, count := range t {
		n += count
	}
	if n < least {
		return other
	}
	left := n / 2
	for ns, count := range t {
		if left -= count; left < 0 {
			return int64(ns)
		}
	}
	return other
}
