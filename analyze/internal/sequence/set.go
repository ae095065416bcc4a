// Package sequence holds sets of sequence numbers, such as batch numbers, and counts missing numbers.
package sequence

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
)

const maxRanges = 1 << 16

// Set is a set of sequence numbers, stored as ranges. It is small if there are few holes. The zero value is empty.
type Set struct {
	// Ranges lists the first and last number of each range, ascending, with gaps between ranges.
	Ranges [][2]int64
}

// Add adds a number.
func (s *Set) Add(n int64) { s.AddRange(n, n) }

// Merge adds the numbers of o.
func (s *Set) Merge(o *Set) {
	for _, r := range o.Ranges {
		s.AddRange(r[0], r[1])
	}
}

// AddRange adds the numbers from first to last, which must not be less. A full set ignores numbers that would start
// another range.
func (s *Set) AddRange(first, last int64) {
	// The ranges from i to j-1 touch the new range.
	i, _ := slices.BinarySearchFunc(s.Ranges, first, func(have [2]int64, first int64) int {
		return cmp.Compare(have[1], max(first, math.MinInt64+1)-1)
	})
	j := i
	for j < len(s.Ranges) && (s.Ranges[j][0] <= last || s.Ranges[j][0]-1 == last) {
		j++
	}
	if i == j {
		if len(s.Ranges) < maxRanges {
			s.Ranges = slices.Insert(s.Ranges, i, [2]int64{first, last})
		}
		return
	}
	s.Ranges[i] = [2]int64{min(first, s.Ranges[i][0]), max(last, s.Ranges[j-1][1])}
	s.Ranges = slices.Delete(s.Ranges, i+1, j)
}

// Missing returns the number of missing numbers between the smallest and the largest.
func (s *Set) Missing() int64 {
	n := int64(0)
	for i := 1; i < len(s.Ranges); i++ {
		// As unsigned numbers the difference fits whatever the signs.
		hole := uint64(s.Ranges[i][0]) - uint64(s.Ranges[i-1][1]) - 1
		n = wide.AddSaturating(n, int64(min(hole, math.MaxInt64)))
	}
	return n
}

// Before returns the number of missing numbers from 0 to the smallest, 0 for an empty set.
func (s *Set) Before() int64 {
	if len(s.Ranges) == 0 {
		return 0
	}
	return max(0, s.Ranges[0][0])
}
