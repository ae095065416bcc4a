// Package sketch estimates percentiles of durations in little memory. Sketches
// merge, and neither the order of the durations nor their distribution over
// sketches that are merged later changes a result.
package sketch

import "slices"

// RelativeError bounds the relative error of a percentile.
const RelativeError = 0.01

// MaxExact is the number of durations up to which percentiles are exact.
const MaxExact = 32

// maxBinsPerDuration bounds the bins by the number of durations, so that a
// sketch of a few durations stays small.
const maxBinsPerDuration = 4

// Sketch estimates percentiles of durations. It keeps up to MaxExact durations
// as they are and counts more of them in bins. The zero value is ready to use.
type Sketch struct {
	count int64
	// counts holds the number of durations in each bin, starting at bin first.
	counts []int64
	first  int
	// others holds the durations outside these bins.
	others []int64
}

// Add adds a duration; a negative one counts as 0.
func (s *Sketch) Add(v int64) {
	s.count++
	if i := uint(binOf(v) - s.first); i < uint(len(s.counts)) {
		s.counts[i]++
		return
	}
	s.addOther(v)
}

// addOther adds a duration outside the bins. When the slice of others would
// have to grow, the bins are extended to hold them, unless that takes too many.
func (s *Sketch) addOther(v int64) {
	if len(s.others) == cap(s.others) && s.count > MaxExact {
		first, end := extendRange(s.first, s.first+len(s.counts), binOf(v), binOf(v)+1)
		for _, o := range s.others {
			first, end = min(first, binOf(o)), max(end, binOf(o)+1)
		}
		if int64(end-first) <= s.count*maxBinsPerDuration {
			s.extend(first, end)
			for _, o := range s.others {
				s.counts[binOf(o)-first]++
			}
			s.counts[binOf(v)-first]++
			s.others = s.others[:0]
			return
		}
	}
	s.others = append(s.others, v)
}

// extend adds the bins from first up to end.
func (s *Sketch) extend(first, end int) {
	first, end = extendRange(first, end, s.first, s.first+len(s.counts))
	if end-first == len(s.counts) {
		return
	}
	counts := make([]int64, end-first)
	if len(s.counts) > 0 {
		copy(counts[s.first-first:], s.counts)
	}
	s.counts, s.first = counts, first
}

// extendRange returns the smallest range that holds both ranges, either of
// which may be empty.
func extendRange(first, end, otherFirst, otherEnd int) (int, int) {
	switch {
	case otherFirst == otherEnd:
		return first, end
	case first == end:
		return otherFirst, otherEnd
	}
	return min(first, otherFirst), max(end, otherEnd)
}

// Merge adds the durations of o, which does not change.
func (s *Sketch) Merge(o *Sketch) {
	if len(o.counts) > 0 {
		s.extend(o.first, o.first+len(o.counts))
		for i, n := range o.counts {
			s.counts[o.first-s.first+i] += n
		}
		s.count += o.count - int64(len(o.others))
	}
	for _, v := range o.others {
		s.Add(v)
	}
}

// Place returns where among count values in ascending order, from 0, a percentile of them
// stands: that of rank ⌈percent·count/100⌉. That of 50 is the median, the lower one of two.
// There has to be a value.
func Place(count, percent int64) int64 {
	return count/100*percent + (count%100*percent+99)/100 - 1
}

// Percentile returns the duration of rank ⌈percent·n/100⌉: the smallest one that
// at least percent of a hundred of the durations do not exceed. ok is false for
// an empty sketch. It may reorder s.others.
func (s *Sketch) Percentile(percent int64) (v float64, ok bool) {
	if s.count == 0 {
		return 0, false
	}
	index := Place(s.count, percent)
	slices.Sort(s.others)
	if s.count <= MaxExact {
		return float64(s.others[index]), true
	}
	return binMiddle(s.bin(index)), true
}

// bin returns the bin of the n-th duration in ascending order, counted from 0.
func (s *Sketch) bin(n int64) int {
	others := s.others
	for i, count := range s.counts {
		bin := s.first + i
		for ; len(others) > 0 && binOf(others[0]) <= bin; others = others[1:] {
			if n == 0 {
				return binOf(others[0])
			}
			n--
		}
		if n < count {
			return bin
		}
		n -= count
	}
	return binOf(others[n])
}
