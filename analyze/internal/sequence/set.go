// Package sequence holds sets of sequence numbers, such as those of batches, and
// counts the numbers that are missing from them.
package sequence

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
)

// maxRanges bounds the separate ranges of a set.
const maxRanges = 1 << 16

// Set is a set of sequence numbers, kept as ranges: it stays small as long as
// the numbers have few holes. The zero value is ready to use.
type Set struct {
	ranges []numbers // sorted, with at least one number missing between two
}

// numbers are the numbers from first to last.
type numbers struct{ first, last int64 }

// Add adds a number.
func (s *Set) Add(n int64) { s.addRange(numbers{n, n}) }

// Merge adds the numbers of o.
func (s *Set) Merge(o *Set) {
	for _, r := range o.ranges {
		s.addRange(r)
	}
}

// addRange adds the numbers from r.first to r.last. With maxRanges ranges,
// numbers that would start another one are ignored.
func (s *Set) addRange(r numbers) {
	// The ranges from i to j-1 touch r.
	i, _ := slices.BinarySearchFunc(s.ranges, r.first, func(have numbers, first int64) int {
		return cmp.Compare(have.last, max(first, math.MinInt64+1)-1)
	})
	j := i
	for j < len(s.ranges) && (s.ranges[j].first <= r.last || s.ranges[j].first-1 == r.last) {
		j++
	}
	if i == j {
		if len(s.ranges) < maxRanges {
			s.ranges = slices.Insert(s.ranges, i, r)
		}
		return
	}
	s.ranges[i] = numbers{min(r.first, s.ranges[i].first), max(r.last, s.ranges[j-1].last)}
	s.ranges = slices.Delete(s.ranges, i+1, j)
}

// Ranges returns the first and the last number of each range of the set, ascending.
func (s *Set) Ranges() [][2]int64 {
	list := make([][2]int64, len(s.ranges))
	for i, r := range s.ranges {
		list[i] = [2]int64{r.first, r.last}
	}
	return list
}

// AddRange adds the numbers from first to last, which is not less.
func (s *Set) AddRange(first, last int64) { s.addRange(numbers{first, last}) }

// Missing returns how many numbers between the smallest and the largest are not
// in the set.
func (s *Set) Missing() int64 {
	n := int64(0)
	for i := 1; i < len(s.ranges); i++ {
		// As unsigned numbers the difference fits whatever the signs.
		hole := uint64(s.ranges[i].first) - uint64(s.ranges[i-1].last) - 1
		n = wide.AddSaturating(n, int64(min(hole, math.MaxInt64)))
	}
	return n
}

// Before returns how many numbers from 0 up to the smallest are not in the set, 0 for an
// empty one.
func (s *Set) Before() int64 {
	if len(s.ranges) == 0 {
		return 0
	}
	return max(0, s.ranges[0].first)
}
