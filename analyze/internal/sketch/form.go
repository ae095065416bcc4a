package sketch

import (
	"errors"
	"math"
	"slices"
)

// maxCount bounds the durations of a decoded sketch, so that sums over many sketches do not overflow.
const maxCount = 1 << 48

// errForm reports a form that no sketch has.
var errForm = errors.New("invalid durations of a sketch")

// Form is the encoded form of a sketch: up to MaxExact durations in ascending order, or the number of the first
// non-empty bin followed by the counts of bins. A count of -n stands for n empty bins.
type Form struct {
	Durations []int64 `json:"durations,omitempty"`
	Bins      []int64 `json:"bins,omitempty"`
}

// Form returns the encoded form of s.
func (s *Sketch) Form() Form {
	if s.count <= MaxExact {
		return Form{Durations: slices.Sorted(slices.Values(s.few))}
	}
	var all Sketch
	all.Merge(s)
	all.countFew()
	bins := []int64(nil)
	empty := int64(0)
	for i, n := range all.counts {
		switch {
		case n == 0:
			empty--
			continue
		case bins == nil:
			bins = append(bins, int64(all.first+i))
		case empty < 0:
			bins = append(bins, empty)
		}
		bins = append(bins, n)
		empty = 0
	}
	return Form{Bins: bins}
}

// Of decodes a form. The bins between the first and the last take eight bytes each; see Bytes.
func Of(f Form) (s Sketch, err error) {
	durations := f.Durations
	bins := f.Bins
	if len(durations) > MaxExact || len(durations) > 0 && len(bins) > 0 {
		return s, errForm
	}
	for _, v := range durations {
		if v < 0 {
			return Sketch{}, errForm
		}
		s.Add(v)
	}
	if len(bins) == 0 {
		return s, nil
	}
	limit := int64(binOf(math.MaxInt64)) + 1
	bin := bins[0]
	if bin < 0 || bins[len(bins)-1] < 0 {
		return s, errForm
	}
	for _, n := range bins[1:] {
		switch {
		case n < 0 && n >= bin-limit:
			bin -= n
		case n > 0 && n <= maxCount-s.count && bin < limit:
			s.countIn(int(bin), n)
			s.count += n
			bin++
		default:
			return Sketch{}, errForm
		}
	}
	if s.count <= MaxExact {
		return Sketch{}, errForm
	}
	return s, nil
}

// Count returns the number of durations.
func (s *Sketch) Count() int64 { return s.count }

// Bytes returns how much memory the bins take.
func (s *Sketch) Bytes() int64 { return int64(len(s.counts)) * 8 }
