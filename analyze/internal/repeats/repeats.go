// Package repeats finds sequences that occur several times in texts of numbers, the
// longest first.
package repeats

import (
	"cmp"
	"slices"
)

// MaxLength is the length of the longest sequence that is found.
const MaxLength = 32

// Sequence is a sequence that occurs several times.
type Sequence struct {
	Length int
	// Count is how many times it occurs, in a text of weight w w times.
	Count int64
	// At has where it occurs, in the order of the texts. No two occurrences overlap, nor
	// do those of different sequences.
	At []Place
}

// Place is a place in a text.
type Place struct{ Text, From int }

// Find returns the sequences of at least two numbers that occur at least twice in the
// texts, each of which counts as often as its weight says: the longest first, of equally long
// ones those that occur more often, then those that occur first. What one occurrence
// covers belongs to no other.
//
// A sequence that repeats itself is left to what it repeats: one with a period that is
// shorter than itself, and at least 2, does not count where the period goes on for two rounds.
//
//	a b c a b c a b c   is a b c, three times
//	a a a   a a a       is a a a, twice
func Find(texts [][]int32, weights []int64) []Sequence {
	f := newFinder(texts, weights)
	f.grow()
	var found []Sequence
	for length := len(f.levels) + 1; length >= 2; length-- {
		found = append(found, f.take(length)...)
	}
	return found
}

// finder looks for sequences in all texts, one behind the other.
type finder struct {
	numbers []int32
	text    []int32 // of each number
	start   []int   // of each text
	weights []int64
	covered []bool
	// repeating has for each place, as bits, the lengths of what repeats itself there.
	repeating []uint64
	// levels has the sequences of 2, 3, … numbers that occur at least twice.
	levels [][]window
}

// window is a sequence at a place; windows with equal numbers are of one class.
type window struct{ at, class int32 }

func newFinder(texts [][]int32, weights []int64) *finder {
	f := &finder{weights: weights}
	for i, t := range texts {
		f.start = append(f.start, len(f.numbers))
		f.numbers = append(f.numbers, t...)
		f.text = append(f.text, slices.Repeat([]int32{int32(i)}, len(t))...)
	}
	f.covered, f.repeating = make([]bool, len(f.numbers)), make([]uint64, len(f.numbers))
	for i, t := range texts {
		f.findPeriods(f.start[i], f.start[i]+len(t))
	}
	return f
}

// findPeriods finds what repeats itself in [from, to).
func (f *finder) findPeriods(from, to int) {
	for period := 2; period < MaxLength && 2*period <= to-from; period++ {
		for i := from; i+period < to; {
			end := i
			for end+period < to && f.numbers[end] == f.numbers[end+period] {
				end++
			}
			if end-i >= period { // [i, end+period) has the period for two rounds
				for ; i < end; i++ {
					longest := min(MaxLength, end+period-i)
					f.repeating[i] |= 1<<(longest+1) - 1<<(period+1)
				}
			}
			i = end + 1
		}
	}
}

// grow finds the windows of each length from those that are shorter by one.
func (f *finder) grow() {
	type key struct{ class, number int32 }
	n := len(f.numbers)
	class := make([]int32, n+1) // of the windows of the length, 0 for those that occur once
	for i, v := range f.numbers {
		class[i] = v + 1
	}
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	for length := 2; length <= MaxLength && len(at) > 0; length++ {
		ids, count := make(map[key]int32), []int64(nil)
		var windows []window
		for _, i := range at {
			last := int(i) + length - 1
			if last >= n || f.text[last] != f.text[i] || class[i] == 0 || class[i+1] == 0 {
				continue
			}
			k := key{class[i], f.numbers[last]}
			id, ok := ids[k]
			if !ok {
				id = int32(len(count))
				ids[k], count = id, append(count, 0)
			}
			count[id] += f.weights[f.text[i]]
			windows = append(windows, window{i, id})
		}
		windows = slices.DeleteFunc(windows, func(w window) bool { return count[w.class] < 2 })
		clear(class)
		at = at[:0]
		for _, w := range windows {
			class[w.at] = w.class + 1
			at = append(at, w.at)
		}
		if len(windows) > 0 {
			f.levels = append(f.levels, slices.Clip(windows))
		}
	}
}

// take takes the sequences of a length.
func (f *finder) take(length int) []Sequence {
	windows := f.levels[length-2]
	f.levels[length-2] = nil
	byClass := make(map[int32]int)
	var candidates []candidate
	for _, w := range windows {
		if !f.isFree(int(w.at), length) {
			continue
		}
		i, ok := byClass[w.class]
		if !ok {
			i = len(candidates)
			byClass[w.class] = i
			candidates = append(candidates, candidate{})
		}
		candidates[i].at = append(candidates[i].at, w.at)
	}
	for i := range candidates {
		candidates[i].count = f.occurrences(candidates[i].at, length, nil)
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.at[0], b.at[0]))
	})
	var found []Sequence
	for _, c := range candidates {
		s := Sequence{Length: length}
		s.Count = f.occurrences(c.at, length, &s.At)
		if s.Count < 2 {
			continue
		}
		for _, p := range s.At {
			from := f.start[p.Text] + p.From
			for i := from; i < from+length; i++ {
				f.covered[i] = true
			}
		}
		found = append(found, s)
	}
	return found
}

// candidate is a sequence with all its places, which may overlap.
type candidate struct {
	at    []int32
	count int64
}

// isFree reports whether nothing of the window is covered and it does not repeat itself. What
// covers it is of its length or longer, so that its ends tell.
func (f *finder) isFree(at, length int) bool {
	return !f.covered[at] && !f.covered[at+length-1] && f.repeating[at]>>length&1 == 0
}

// occurrences counts the free places that do not overlap, from the first on, and appends
// them to places, if that is not nil.
func (f *finder) occurrences(at []int32, length int, places *[]Place) int64 {
	count, next := int64(0), int32(0)
	for _, i := range at {
		if i < next || !f.isFree(int(i), length) {
			continue
		}
		text := f.text[i]
		count += f.weights[text]
		next = i + int32(length)
		if places != nil {
			*places = append(*places, Place{int(text), int(i) - f.start[text]})
		}
	}
	return count
}
