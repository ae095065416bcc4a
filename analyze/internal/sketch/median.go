package sketch

import (
	"math/bits"
	"slices"
)

// Median returns the median of values, the lower of two. It does not change values, which must not be empty.
func Median(values []int64) int64 {
	v := slices.Clone(values)
	at := int(Place(int64(len(v)), 50))
	const few = 12
	for rounds := 2 * bits.Len(uint(len(v))); len(v) > few && rounds > 0; rounds-- { // quickselect
		middle := max(min(v[0], v[len(v)/2]), min(max(v[0], v[len(v)/2]), v[len(v)-1]))
		i := 0
		j := len(v) - 1
		for i <= j {
			for v[i] < middle {
				i++
			}
			for v[j] > middle {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			v = v[:j+1]
		case at >= i:
			v = v[i:]
			at -= i
		default:
			return middle
		}
	}
	slices.Sort(v)
	return v[at]
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
