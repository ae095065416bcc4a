package repeats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
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
	Text          string
	Count, Rounds int64
}

func countedOf(texts [][]int32, found []Sequence) []counted {
	var list []counted
	for _, s := range found {
		var text []byte
		for _, n := range texts[s.At[0].Text][s.At[0].From : s.At[0].From+s.Length] {
			text = append(text, byte(n))
		}
		list = append(list, counted{string(text), s.Count, s.Rounds})
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
		{name: "nothing again", texts: []string{"abc", "a", "bca"}, want: []counted{{"bc", 2, 2}}},
		{name: "the longest first", texts: []string{"abcd", "xabcy", "bcd"}, want: []counted{{"abc", 2, 2}}},
		{name: "whole texts", texts: []string{"abc"}, weights: []int64{5}, want: []counted{{"abc", 5, 5}}},
		{name: "rounds", texts: []string{"abcabcabcab"}, want: []counted{{"abc", 1, 3}}},
		{name: "rounds in two texts", texts: []string{"xabab", "abababy"}, want: []counted{{"ab", 2, 5}}},
		{name: "rounds and one round", texts: []string{"xababy", "abz", "cab"}, want: []counted{{"ab", 3, 4}}},
		{name: "rounds within a sequence", texts: []string{"aabx", "yaab", "aaaz"}, want: []counted{{"aab", 2, 2}, {"a", 1, 3}}},
		{name: "other rounds", texts: []string{"xaaa", "xaa"}, want: []counted{{"a", 2, 5}}},
		{name: "rounds that cover most", texts: []string{"aabaabaab"}, want: []counted{{"aab", 1, 3}}},
		{name: "the same at both ends", texts: []string{"aba", "aba"}, want: []counted{{"aba", 2, 2}}},
		{name: "one number", texts: []string{"aaaaa", "baa"}, want: []counted{{"a", 2, 7}}},
		{name: "more often first", texts: []string{"abc", "bc", "ab", "bc"}, want: []counted{{"bc", 3, 3}}},
		{name: "what is left", texts: []string{"pqrsab", "pqrscd", "ab", "cd"}, want: []counted{{"pqrs", 2, 2}, {"ab", 2, 2}, {"cd", 2, 2}}},
		{name: "up to a length", texts: []string{long, long}, want: []counted{{long[:32], 2, 2}, {long[32:], 2, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts := letters(tt.texts...)
			if tt.weights == nil {
				tt.weights = slices.Repeat([]int64{1}, len(texts))
			}
			check.Equal(t, "found", tt.want, countedOf(texts, Find(texts, tt.weights)))
		})
	}
}

// naive finds sequences by comparing every one with all others. Its items are texts: a sequence,
// again for each round.
type naive struct {
	texts [][]string
	found []counted
}

func (n *naive) find(texts [][]int32) []counted {
	for _, t := range texts {
		n.texts = append(n.texts, itemsOf(t))
	}
	for length := MaxLength; length >= 2; length-- {
		var candidates [][]string
		var counts []int64
		for _, t := range n.texts {
			for at := 0; at+length <= len(t); at++ {
				s := t[at : at+length]
				known := slices.ContainsFunc(candidates, func(o []string) bool { return slices.Equal(o, s) })
				if numbers := strings.Join(s, ""); !known && !slices.Contains(s, "") && len(numbers) <= MaxLength+length {
					candidates, counts = append(candidates, slices.Clone(s)), append(counts, n.count(s, false))
				}
			}
		}
		order := make([]int, len(candidates))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
		for _, i := range order {
			if count := n.count(candidates[i], false); count >= 2 {
				n.count(candidates[i], true)
				n.add(strings.ReplaceAll(strings.Join(candidates[i], ""), ".", ""), count, count)
			}
		}
	}
	for _, t := range n.texts {
		for _, item := range t {
			if round, k := roundOf(item); k > 1 {
				n.add(round, 1, int64(k))
			}
		}
	}
	return n.found
}

func (n *naive) add(text string, count, rounds int64) {
	for i := range n.found {
		if n.found[i].Text == text {
			n.found[i].Count, n.found[i].Rounds = n.found[i].Count+count, n.found[i].Rounds+rounds
			return
		}
	}
	n.found = append(n.found, counted{text, count, rounds})
}

// itemsOf cuts a text into items, each of which ends with a dot.
func itemsOf(t []int32) (items []string) {
	var text []byte
	for _, v := range t {
		text = append(text, byte(v))
	}
	for at := 0; at < len(t); at += len(items[len(items)-1]) - 1 {
		best := string(text[at : at+1])
		for length := 1; length <= MaxLength; length++ {
			for k := 2; at+k*length <= len(t); k++ {
				if s := string(text[at : at+k*length]); s == strings.Repeat(s[:length], k) && len(s) > len(best) {
					best = s
				}
			}
		}
		items = append(items, best+".")
	}
	return items
}

// roundOf returns the round of an item, the shortest, and how many there are.
func roundOf(item string) (string, int) {
	item = strings.TrimSuffix(item, ".")
	for length := 1; length <= len(item); length++ {
		if k := len(item) / length; item == strings.Repeat(item[:length], k) {
			return item[:length], k
		}
	}
	return "", 0
}

// count counts the occurrences of s that do not overlap, and takes them out.
func (n *naive) count(s []string, take bool) (count int64) {
	for _, t := range n.texts {
		for at := 0; at+len(s) <= len(t); at++ {
			if slices.Equal(t[at:at+len(s)], s) {
				count++
				if take {
					copy(t[at:], make([]string, len(s)))
				}
				at += len(s) - 1
			}
		}
	}
	return count
}

func TestFindAgainstNaive(t *testing.T) {
	var sequences, weighted int
	cases.Seeds(t, 2000, func(seed uint64, r *rand.Rand) {
		var texts, each [][]int32
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
			each = append(each, slices.Repeat([][]int32{text}, weight)...)
			weighted += weight - 1
		}
		found := Find(texts, weights)
		if diff := gocmp.Diff(new(naive).find(each), countedOf(texts, found)); diff != "" {
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
		count, rounds := int64(0), int64(0)
		first := texts[s.At[0].Text][s.At[0].From : s.At[0].From+s.Length]
		for _, at := range s.At {
			count += weights[at.Text]
			rounds += weights[at.Text] * int64(at.Rounds)
			if got := texts[at.Text][at.From : at.From+s.Length*at.Rounds]; !slices.Equal(got, slices.Repeat(first, at.Rounds)) {
				t.Errorf("another sequence at %+v", at)
			}
			for i := range s.Length * at.Rounds {
				p := Place{at.Text, at.From + i, 0}
				if covered[p] {
					t.Errorf("%+v is covered twice", p)
				}
				covered[p] = true
			}
		}
		if count != s.Count || rounds != s.Rounds {
			t.Errorf("%d occurrences of %d rounds, want %d of %d", count, rounds, s.Count, s.Rounds)
		}
	}
}
