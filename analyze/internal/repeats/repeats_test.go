package repeats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

// letters returns texts of numbers.
func letters(texts ...string) [][]int32 {
	var list [][]int32
	for _, t := range texts {
		var numbers []int32
		for _, b := range []byte(t) {
			numbers = append(numbers, int32(b))
		}
		list = append(list, numbers)
	}
	return list
}

// counted is a sequence as letters with how many times it occurs.
type counted struct {
	Text  string
	Count int64
}

func countedOf(texts [][]int32, found []Sequence) []counted {
	var list []counted
	for _, s := range found {
		var text []byte
		for _, n := range texts[s.At[0].Text][s.At[0].From : s.At[0].From+s.Length] {
			text = append(text, byte(n))
		}
		list = append(list, counted{string(text), s.Count})
	}
	return list
}

func TestFind(t *testing.T) {
	long := "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH" // 44
	tests := []struct {
		name    string
		texts   []string
		weights []int64
		want    []counted
	}{
		{name: "nothing"},
		{name: "nothing again", texts: []string{"abc", "a", "bca"}, want: []counted{{"bc", 2}}},
		{name: "the longest first", texts: []string{"abcd", "xabcy", "bcd"}, want: []counted{{"abc", 2}}},
		{name: "whole texts", texts: []string{"abc"}, weights: []int64{5}, want: []counted{{"abc", 5}}},
		{name: "a period", texts: []string{"abcabcabcab"}, want: []counted{{"abc", 3}}},
		{name: "a period in two texts", texts: []string{"xabab", "abababy"}, want: []counted{{"ab", 5}}},
		{name: "the same at both ends", texts: []string{"aba", "aba"}, want: []counted{{"aba", 2}}},
		{name: "one number", texts: []string{"aaa", "aaa"}, want: []counted{{"aaa", 2}}},
		{name: "one number for long", texts: []string{"aaaaa"}, want: []counted{{"aa", 2}}},
		{name: "more often first", texts: []string{"abc", "bc", "ab", "bc"}, want: []counted{{"bc", 3}}},
		{name: "what is left", texts: []string{"pqrsab", "pqrscd", "ab", "cd"}, want: []counted{{"pqrs", 2}, {"ab", 2}, {"cd", 2}}},
		{name: "up to a length", texts: []string{long, long}, want: []counted{{long[:32], 2}, {long[32:], 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := letters(tt.texts...)
			if tt.weights == nil {
				tt.weights = slices.Repeat([]int64{1}, len(texts))
			}
			if diff := gocmp.Diff(tt.want, countedOf(texts, Find(texts, tt.weights))); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// naive finds sequences by comparing every one with all others.
type naive struct {
	texts   [][]int32
	covered [][]bool
}

func (n *naive) find() []counted {
	var found []counted
	for _, t := range n.texts {
		n.covered = append(n.covered, make([]bool, len(t)))
	}
	for length := MaxLength; length >= 2; length-- {
		var candidates [][]int32
		var counts []int64
		for i, t := range n.texts {
			for at := 0; at+length <= len(t); at++ {
				s := t[at : at+length]
				known := slices.ContainsFunc(candidates, func(o []int32) bool { return slices.Equal(o, s) })
				if !known && n.isFree(i, at, length) {
					candidates, counts = append(candidates, s), append(counts, n.count(s, false))
				}
			}
		}
		order := make([]int, len(candidates))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
		for _, i := range order {
			s := candidates[i]
			if count := n.count(s, false); count >= 2 {
				n.count(s, true)
				found = append(found, countedOf([][]int32{s}, []Sequence{{Length: length, Count: count, At: []Place{{}}}})...)
			}
		}
	}
	return found
}

// count counts the free occurrences of s that do not overlap, and covers them.
func (n *naive) count(s []int32, cover bool) (count int64) {
	for i, t := range n.texts {
		for at := 0; at+len(s) <= len(t); at++ {
			if !slices.Equal(t[at:at+len(s)], s) || !n.isFree(i, at, len(s)) {
				continue
			}
			count++
			for k := range s {
				n.covered[i][at+k] = n.covered[i][at+k] || cover
			}
			at += len(s) - 1
		}
	}
	return count
}

func (n *naive) isFree(i, at, length int) bool {
	t := n.texts[i]
	for k := range length {
		if n.covered[i][at+k] {
			return false
		}
	}
	for period := 2; period < length; period++ {
		has := func(from, to int) bool {
			return from >= 0 && to <= len(t) && slices.Equal(t[from:to-period], t[from+period:to])
		}
		from, to := at, at+length
		if !has(from, to) {
			continue
		}
		for has(from-1, to) {
			from--
		}
		for has(from, to+1) {
			to++
		}
		if to-from >= 2*period {
			return false
		}
	}
	return true
}

func TestFindAgainstNaive(t *testing.T) {
	var sequences, weighted int
	cases.Seeds(t, 2000, func(seed uint64, r *rand.Rand) {
		n := naive{}
		var texts [][]int32
		var weights []int64
		for range r.IntN(6) {
			text := make([]int32, r.IntN(70))
			alphabet := 1 + r.IntN(5)
			for i := range text {
				text[i] = 'a' + int32(r.IntN(alphabet))
				if i > 3 && r.IntN(3) > 0 {
					text[i] = text[i-1-int(seed%4)] // so that something comes again
				}
			}
			if slices.ContainsFunc(texts, func(o []int32) bool { return slices.Equal(o, text) }) {
				continue
			}
			weight := 1 + r.IntN(3)
			texts, weights = append(texts, text), append(weights, int64(weight))
			n.texts = append(n.texts, slices.Repeat([][]int32{text}, weight)...)
			weighted += weight - 1
		}
		found := Find(texts, weights)
		if diff := gocmp.Diff(n.find(), countedOf(texts, found)); diff != "" {
			t.Fatalf("seed %d: %v, weights %v: found (-naive +got):\n%s", seed, texts, weights, diff)
		}
		sequences += len(found)
		checkPlaces(t, texts, weights, found)
	})
	if sequences == 0 || weighted == 0 {
		t.Errorf("compared %d sequences, %d texts again", sequences, weighted)
	}
}

// checkPlaces checks that places hold the sequence, do not overlap and add up to the count.
func checkPlaces(t *testing.T, texts [][]int32, weights []int64, found []Sequence) {
	t.Helper()
	covered := make(map[Place]bool)
	for _, s := range found {
		count := int64(0)
		first := texts[s.At[0].Text][s.At[0].From : s.At[0].From+s.Length]
		for _, at := range s.At {
			count += weights[at.Text]
			if !slices.Equal(texts[at.Text][at.From:at.From+s.Length], first) {
				t.Errorf("another sequence at %+v", at)
			}
			for i := range s.Length {
				p := Place{at.Text, at.From + i}
				if covered[p] {
					t.Errorf("%+v is covered twice", p)
				}
				covered[p] = true
			}
		}
		if count != s.Count {
			t.Errorf("%d occurrences, want %d", count, s.Count)
		}
	}
}
