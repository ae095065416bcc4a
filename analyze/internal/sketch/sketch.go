// Package sketch estimates percentiles of durations in little memory. Sketches merge. Results depend neither on the
// order of durations nor on their distribution over sketches.
package sketch

import (
	"math/bits"
	"slices"
)

// RelativeError bounds the relative error of a percentile.
const RelativeError = 0.01

// MaxExact is the largest number of durations with exact percentiles.
const MaxExact = 32

// maxFew is the number of durations stored before switching to bins, so that small sketches stay small.
const maxFew = 256

// Sketch estimates percentiles of durations. The zero value is ready to use.
type Sketch struct {
	count  int64
	few    []int64 // all durations, until there are bins
	counts []int64 // holds the number of durations in each bin from first on, in whole powers of two
	first  int
}

// Add adds a duration. Negative durations count as 0.
func (s *Sketch) Add(v int64) {
	s.count++
	if i := uint(binOf(v) - s.first); i < uint(len(s.counts)) {
		s.counts[i]++
		return
	}
	if s.counts == nil && len(s.few) < maxFew {
		s.few = append(s.few, v)
		return
	}
	s.countFew()
	s.countIn(binOf(v), 1)
}

func (s *Sketch) countFew() {
	for _, v := range s.few {
		s.countIn(binOf(v), 1)
	}
	s.few = nil
}

func (s *Sketch) countIn(bin int, n int64) {
	if uint(bin-s.first) >= uint(len(s.counts)) {
		s.extend(bin)
	}
	s.counts[bin-s.first] += n
}

func (s *Sketch) extend(bin int) {
	const power = 1 << binBits
	first := bin / power * power
	end := (bin/power + 1) * power
	if len(s.counts) > 0 {
		first, end = min(first, s.first), max(end, s.first+len(s.counts))
	}
	counts := make([]int64, end-first)
	if len(s.counts) > 0 {
		copy(counts[s.first-first:], s.counts)
	}
	s.counts = counts
	s.first = first
}

// Merge adds the durations of o and leaves o unchanged.
func (s *Sketch) Merge(o *Sketch) {
	for _, v := range o.few {
		s.Add(v)
	}
	if o.counts == nil {
		return
	}
	s.countFew()
	s.count += o.count
	for i, n := range o.counts {
		if n > 0 {
			s.countIn(o.first+i, n)
		}
	}
}

// Place returns the index of a percentile among count ascending values: rank ⌈percent·count/100⌉, so the median is the
// lower of two middle values. count must be positive.
func Place(count, percent int64) int64 {
	return count/100*percent + (count%100*percent+99)/100 - 1
}

// Percentile returns the duration of rank ⌈percent·n/100⌉: the smallest duration not exceeded by at least percent of a
// hundred. ok is false for an empty sketch. It may reorder s.few.
func (s *Sketch) Percentile(percent int64) (v float64, ok bool) {
	if s.count == 0 {
		return 0, false
	}
	place := Place(s.count, percent)
	if s.counts == nil {
		slices.Sort(s.few)
		if s.count <= MaxExact {
			return float64(s.few[place]), true
		}
		return binMiddle(binOf(s.few[place])), true
	}
	bin := 0
	for ; place >= s.counts[bin]; bin++ {
		place -= s.counts[bin]
	}
	return binMiddle(s.first + bin), true
}

// Durations below 128 ns have a bin each. Above, each power of two is divided into 64 equal bins, so a duration differs
// from the middle of its bin by at most 1/128. This is the scale of DDSketch with the logarithm interpolated linearly
// between powers of two.
const binBits = 6

// binOf returns the bin of a duration. Negative durations use the bin of 0.
func binOf(v int64) int {
	u := uint64(max(v, 0))
	shift := max(0, bits.Len64(u)-binBits-1)
	return shift<<binBits + int(u>>shift)
}

func binMiddle(bin int) float64 {
	shift := max(0, bin>>binBits-1)
	first := int64(bin-shift<<binBits) << shift
	return float64(first) + float64(int64(1)<<shift-1)/2
}
