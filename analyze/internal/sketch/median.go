package sketch

import "slices"

// Median returns the median of values, the lower of two. It does not change values, which must not be empty.
func Median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[Place(int64(len(sorted)), 50)]
}
