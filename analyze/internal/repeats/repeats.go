// Package repeats finds sequences of numbers that come again in texts of numbers.
package repeats

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// MaxLength is the length of the longest sequence that is found.
const MaxLength = 32

// Sequence is a sequence that comes again.
type Sequence struct {
	Length int
	// Count is how many occurrences there are, in a text of weight w w for each place, and
	// Rounds how many times the sequence comes in them.
	Count, Rounds int64
	// At has the places of the occurrences. No two of them overlap, nor do those of different
	// sequences.
	At []Place
}

// Place is an occurrence: from a place in a text on, a number of rounds one behind the other.
type Place struct{ Text, From, Rounds int }

// Find returns the sequences that come again in texts, each of which counts as often as its
// weight says, by three rules:
//
//  1. Rounds. From the start of a text on, where a sequence is followed by itself at once, it is one
//     item with as many rounds as follow; any other number is an item of its own. Of the sequences
//     at a place the one whose rounds cover most counts, of several the shortest, and the search
//     goes on behind the last round.
//  2. Sequences of two items or more, and at most MaxLength numbers, that occur at least twice, items of
//     as many rounds each: those of most items first, of as many items those that occur more
//     often, then those that occur first. What one occurrence covers belongs to no other.
//  3. Items of several rounds that no such sequence covers are an occurrence each.
//
// Equal sequences by the last two rules are one. Examples:
//
//	a b c a b c a b c x    is a b c, one occurrence with 3 rounds
//	a a a b   a a          is a, two occurrences with 5 rounds
//	a a b x   a a b y      is a a b, two occurrences of a round each
func Find(texts [][]int32, weights []int64) []Sequence {
	c := collector{texts: texts, index: make(map[string]int)}
	items, ids := c.cut()
	f := newFinder(ids, weights)
	for _, text := range items {
		for _, item := range text {
			f.sizes = append(f.sizes, item.length*item.Rounds)
		}
	}
	f.grow()
	for length := len(f.levels) + 1; length >= 2; length-- {
		for _, s := range f.take(length) {
			for i, at := range s.At {
				first, last := items[at.Text][at.From], items[at.Text][at.From+length-1]
				s.At[i].From, s.Length = first.From, last.From+last.length*last.Rounds-first.From
			}
			c.add(s)
		}
	}
	for i, text := range items {
		for k, item := range text {
			if item.Rounds > 1 && !f.covered[f.start[i]+k] {
				c.add(Sequence{item.length, weights[i], weights[i] * int64(item.Rounds), []Place{item.Place}})
			}
		}
	}
	return c.found
}

// item is a sequence of length numbers with its rounds.
type item struct {
	Place
	length int
}

// collector collects the sequences of texts.
type collector struct {
	texts [][]int32
	found []Sequence
	index map[string]int // of found, by the numbers
	key   []byte
}

// cut cuts the texts into items. Those with equal numbers and rounds have the same id.
func (c *collector) cut() (items [][]item, ids [][]int32) {
	known := make(map[string]int32)
	for i, text := range c.texts {
		var list []item
		var numbers []int32
		for at := 0; at < len(text); {
			length, n := roundsAt(text[at:])
			key := c.keyOf(text[at:at+length], n)
			id, ok := known[string(key)]
			if !ok {
				id = int32(len(known))
				known[string(key)] = id
			}
			list, numbers = append(list, item{Place{i, at, n}, length}), append(numbers, id)
			at += length * n
		}
		items, ids = append(items, list), append(ids, numbers)
	}
	return items, ids
}

// roundsAt returns the sequence at the start of a text whose rounds cover most, by its length,
// and how many rounds there are.
func roundsAt(text []int32) (length, n int) {
	length, n = 1, 1
	for period := 1; period <= MaxLength && 2*period <= len(text); period++ {
		end := period
		for end < len(text) && text[end] == text[end-period] {
			end++
		}
		if k := end / period; k > 1 && k*period > n*length {
			length, n = period, k
		}
	}
	return length, n
}

// keyOf returns a key of numbers and a number of rounds. It is overwritten by the next one.
func (c *collector) keyOf(numbers []int32, rounds int) []byte {
	c.key = binary.LittleEndian.AppendUint32(c.key[:0], uint32(rounds))
	for _, n := range numbers {
		c.key = binary.LittleEndian.AppendUint32(c.key, uint32(n))
	}
	return c.key
}

// add adds the occurrences of a sequence.
func (c *collector) add(s Sequence) {
	first := s.At[0]
	key := c.keyOf(c.texts[first.Text][first.From:first.From+s.Length], 0)
	i, ok := c.index[string(key)]
	if !ok {
		c.index[string(key)] = len(c.found)
		c.found = append(c.found, s)
		return
	}
	known := &c.found[i]
	known.Count, known.Rounds, known.At = known.Count+s.Count, known.Rounds+s.Rounds, append(known.At, s.At...)
}

// finder looks for sequences in all texts, one behind the other.
type finder struct {
	numbers []int32
	text    []int32 // of each number
	start   []int   // of each text
	weights []int64
	covered []bool
	sizes   []int // how much each number stands for
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
	f.covered = make([]bool, len(f.numbers))
	return f
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
		if !f.isFree(int(w.at), length) || f.size(int(w.at), length) > MaxLength {
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
		s.Rounds = s.Count
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

// isFree reports whether nothing of the window is covered. What covers it is of its length or
// longer, so that its ends tell.
func (f *finder) isFree(at, length int) bool { return !f.covered[at] && !f.covered[at+length-1] }

// size returns how much length numbers from a place on stand for.
func (f *finder) size(at, length int) (n int) {
	for _, size := range f.sizes[at : at+length] {
		n += size
	}
	return n
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
			*places = append(*places, Place{int(text), int(i) - f.start[text], 1})
		}
	}
	return count
}
