package analyze

import (
	"cmp"
	"math"
	"slices"
)

// maxRanges bounds how many separate ranges of numbers are remembered.
const maxRanges = 1 << 16

// sequences is a set of sequence numbers, kept as ranges: it stays small as
// long as the numbers have few holes. The zero value is ready to use.
type sequences struct {
	ranges []sequenceRange // sorted, with at least one number missing between two
}

type sequenceRange struct{ first, last int64 }

func (s *sequences) add(n int64) { s.addRange(sequenceRange{n, n}) }

func (s *sequences) merge(o *sequences) {
	for _, r := range o.ranges {
		s.addRange(r)
	}
}

// addRange adds the numbers from r.first to r.last. Beyond maxRanges, numbers
// that start another range are left out.
func (s *sequences) addRange(r sequenceRange) {
	// The ranges from i to j-1 touch r.
	i, _ := slices.BinarySearchFunc(s.ranges, r.first, func(have sequenceRange, first int64) int {
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
	s.ranges[i] = sequenceRange{min(r.first, s.ranges[i].first), max(r.last, s.ranges[j-1].last)}
	s.ranges = slices.Delete(s.ranges, i+1, j)
}

// missing counts the numbers between the smallest and the largest that are not
// there.
func (s *sequences) missing() int64 {
	n := int64(0)
	for i := 1; i < len(s.ranges); i++ {
		// As unsigned numbers the difference fits whatever the signs.
		hole := uint64(s.ranges[i].first) - uint64(s.ranges[i-1].last) - 1
		n = addSaturating(n, int64(min(hole, math.MaxInt64)))
	}
	return n
}
