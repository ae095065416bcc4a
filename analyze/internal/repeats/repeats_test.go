package repeats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

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
