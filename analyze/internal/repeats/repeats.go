// Package repeats finds repeated sequences in texts of numbers.
package repeats

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/model/symbols"
)

// MaxLength is the length of the longest sequence found.
const MaxLength = 32

// Sequence is a repeated sequence.
type Sequence struct {
	Length int
	// Count is the number of occurrences, weighted by their texts. Rounds is the number of repetitions of the
	// sequence in them.
	Count, Rounds int64
	// At lists the occurrences. Occurrences do not overlap, also of different sequences.
	At []Place
}

// Place is an occurrence: its text, its position there, and its number of consecutive rounds.
type Place struct{ Text, From, Rounds int }

// Find returns the repeated sequences in texts. Each text counts as often as its weight says. There are three rules:
//
//  1. Rounds. From the start of a text, a sequence directly followed by itself becomes one item with its number of
//     rounds; any other number is an item of its own. Of all sequences at a position, the one whose rounds
//     cover most counts, and the shortest of several. The search continues after the last round.
//  2. Sequences of at least two items and at most MaxLength numbers that occur at least twice, with equal rounds of their
//     items: most items first, then most frequent, then earliest. Occurrences do not overlap.
//  3. Items with several rounds outside such sequences are an occurrence each.
//
// Rules 2 and 3 merge equal sequences. Examples:
//
//	a b c a b c a b c x    is a b c, one occurrence with 3 rounds
//	a a a b   a a          is a, two occurrences with 5 rounds
//	a a b x   a a b y      is a a b, two occurrences of a round each
func Find(texts [][]int32, weights []int64) []Sequence {
	f := &finder{texts: texts, weights: weights}
	f.cut()
	f.sort()
	for length := MaxLength; length >= 2; length-- {
		f.take(length)
	}
	for i, item := range f.items {
		if weight := weights[item.Text]; item.Rounds > 1 && !f.covered[i] {
			f.add(Sequence{item.length, weight, weight * int64(item.Rounds), []Place{item.Place}})
		}
	}
	return f.found
}

type finder struct {
	texts   [][]int32
	weights []int64

	items   []item  // of all texts in order
	ids     []int32 // of items; equal for equal numbers and rounds
	ends    []int   // of texts: the number of items up to there
	covered []bool  // items in found sequences
	sorted  []start // by the ids from there on

	found []Sequence
	index symbols.Texts // of found, by the numbers
	key   []byte
}

// item is a sequence with its rounds. length is the number of numbers.
type item struct {
	Place
	length int
}

type start struct {
	at int
	// common is the number of items shared with the start before. longest is the length of the longest sequence
	// from here that occurs at least twice. Both are at most MaxLength.
	common, longest int
}

func (f *finder) cut() {
	var known symbols.Texts
	for i, text := range f.texts {
		for at := 0; at < len(text); {
			length, n := roundsAt(text[at:])
			f.items = append(f.items, item{Place{i, at, n}, length})
			f.ids = append(f.ids, known.ID(f.keyOf(text[at:at+length], n)))
			at += length * n
		}
		f.ends = append(f.ends, len(f.items))
	}
	f.covered = make([]bool, len(f.items))
}

// roundsAt returns the length of the sequence at the start of text whose rounds cover most, and its number of rounds.
func roundsAt(text []int32) (length, n int) {
	length = 1
	n = 1
	for period := 1; period <= MaxLength && 2*period <= len(text); period++ {
		end := period
		for end < len(text) && text[end] == text[end-period] {
			end++
		}
		if k := end / period; k > 1 && k*period > n*length {
			length = period
			n = k
		}
	}
	return length, n
}

// keyOf returns a key for numbers and rounds. It is valid until the next call.
func (f *finder) keyOf(numbers []int32, rounds int) []byte {
	f.key = binary.LittleEndian.AppendUint32(f.key[:0], uint32(rounds))
	for _, n := range numbers {
		f.key = binary.LittleEndian.AppendUint32(f.key, uint32(n))
	}
	return f.key
}

// sort sorts the starts, so that equal sequences of any length are adjacent.
func (f *finder) sort() {
	from := func(at int) []int32 { return f.ids[at:min(at+MaxLength, f.ends[f.items[at].Text])] }
	for at := range f.items {
		s := start{at: at}
		if f.weights[f.items[at].Text] > 1 {
			s.longest = len(from(at))
		}
		f.sorted = append(f.sorted, s)
	}
	slices.SortFunc(f.sorted, func(a, b start) int { return slices.Compare(from(a.at), from(b.at)) })
	for i := 1; i < len(f.sorted); i++ {
		before := &f.sorted[i-1]
		s := &f.sorted[i]
		a := from(before.at)
		b := from(s.at)
		for s.common < min(len(a), len(b)) && a[s.common] == b[s.common] {
			s.common++
		}
		before.longest = max(before.longest, s.common)
		s.longest = max(s.longest, s.common)
	}
}

// candidate is a sequence with all its places, possibly overlapping.
type candidate struct {
	places []int
	count  int64
}

func (f *finder) take(length int) {
	var candidates []candidate
	var places []int // of one sequence
	end := func() {
		if len(places) == 0 {
			return
		}
		slices.Sort(places)
		if count := f.count(places, length); count >= 2 {
			candidates = append(candidates, candidate{slices.Clone(places), count})
		}
		places = places[:0]
	}
	for _, s := range f.sorted {
		if s.common < length {
			end()
		}
		if s.longest >= length && f.isFree(s.at, length) && f.size(s.at, length) <= MaxLength {
			places = append(places, s.at)
		}
	}
	end()
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.places[0], b.places[0]))
	})
	for _, c := range candidates {
		count := f.count(c.places, length)
		if count < 2 {
			continue // covered by other sequences
		}
		s := Sequence{Length: f.size(c.places[0], length), Count: count, Rounds: count}
		for at := range f.apart(c.places, length) {
			s.At = append(s.At, Place{f.items[at].Text, f.items[at].From, 1})
			for i := range length {
				f.covered[at+i] = true
			}
		}
		f.add(s)
	}
}

// isFree reports whether no item of the sequence is covered. Covering sequences are at least as long, so its ends
// decide.
func (f *finder) isFree(at, length int) bool { return !f.covered[at] && !f.covered[at+length-1] }

func (f *finder) size(at, length int) int {
	last := &f.items[at+length-1]
	return last.From + last.length*last.Rounds - f.items[at].From
}

// apart yields free, non-overlapping places from the first on.
func (f *finder) apart(places []int, length int) iter.Seq[int] {
	return func(yield func(int) bool) {
		next := 0
		for _, at := range places {
			if at < next || !f.isFree(at, length) {
				continue
			}
			if next = at + length; !yield(at) {
				return
			}
		}
	}
}

func (f *finder) count(places []int, length int) (n int64) {
	for at := range f.apart(places, length) {
		n += f.weights[f.items[at].Text]
	}
	return n
}

func (f *finder) add(s Sequence) {
	first := s.At[0]
	i := f.index.ID(f.keyOf(f.texts[first.Text][first.From:first.From+s.Length], 0))
	if int(i) == len(f.found) {
		f.found = append(f.found, s)
		return
	}
	known := &f.found[i]
	known.Count += s.Count
	known.Rounds += s.Rounds
	known.At = append(known.At, s.At...)
}
