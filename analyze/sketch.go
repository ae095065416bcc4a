package analyze

import "slices"

// sketchError bounds the relative error of a percentile.
const sketchError = 0.01

// maxExact is up to how many durations the percentiles are exact.
const maxExact = 32

// maxBinsPerDuration bounds the bins by the number of durations, so that rows of
// a few durations stay small.
const maxBinsPerDuration = 4

// sketch estimates percentiles of durations. Up to maxExact durations are kept
// as they are; more are counted in bins. The result depends neither on the order
// of the durations nor on how they were spread over sketches that were merged.
// The zero value is ready to use.
type sketch struct {
	count int64
	// counts has the number of durations in each of the bins from first on.
	counts []int64
	first  int
	// others are the durations that are not counted there.
	others []int64
}

// add adds a duration; one below 0 counts as 0. Nearly all fall into a bin that
// is there.
func (s *sketch) add(v int64) {
	s.count++
	if i := uint(binOf(v) - s.first); i < uint(len(s.counts)) {
		s.counts[i]++
		return
	}
	s.addOther(v)
}

// addOther adds a duration that no bin is there for. Whenever the others would
// need more memory, they get bins instead, if these are not too many.
func (s *sketch) addOther(v int64) {
	if len(s.others) == cap(s.others) && s.count > maxExact {
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

// extend makes room for the bins from first up to end, beside those that are
// there.
func (s *sketch) extend(first, end int) {
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

// extendRange returns the range that holds both, either of which may be empty.
func extendRange(first, end, otherFirst, otherEnd int) (int, int) {
	switch {
	case otherFirst == otherEnd:
		return first, end
	case first == end:
		return otherFirst, otherEnd
	}
	return min(first, otherFirst), max(end, otherEnd)
}

// merge adds what o holds; o stays as it is.
func (s *sketch) merge(o *sketch) {
	if len(o.counts) > 0 {
		s.extend(o.first, o.first+len(o.counts))
		for i, n := range o.counts {
			s.counts[o.first-s.first+i] += n
		}
		s.count += o.count - int64(len(o.others))
	}
	for _, v := range o.others {
		s.add(v)
	}
}

// percentile returns the smallest duration that at least percent of a hundred
// of the durations do not exceed: the one of rank ⌈percent·n/100⌉. ok is false
// without durations. It may put what s holds into another order.
func (s *sketch) percentile(percent int64) (v float64, ok bool) {
	if s.count == 0 {
		return 0, false
	}
	index := (s.count/100)*percent + (s.count%100*percent+99)/100 - 1
	slices.Sort(s.others)
	if s.count <= maxExact {
		return float64(s.others[index]), true
	}
	return binMiddle(s.bin(index)), true
}

// bin returns the bin of the duration that has n others before it in ascending
// order.
func (s *sketch) bin(n int64) int {
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
