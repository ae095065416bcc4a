package recall

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// text returns a text that tells its own end.
func text(i, size int) string { return fmt.Sprintf("[%d%s]", i, strings.Repeat("x", size)) }

// meet looks a text up as readers do, and adds it if it is wanted.
func meet(t *testing.T, table *Table[string], s string) (found bool) {
	t.Helper()
	if !table.Awake() {
		return false
	}
	value, expected := table.Expected()
	if value != nil && string(expected) == s {
		table.Right()
	} else {
		value = table.Find([]byte(s))
	}
	if value == nil {
		if table.Wants([]byte(s)) {
			table.Add([]byte(s), s)
		}
		return false
	}
	if *value != s {
		t.Fatalf("found %q for %q", *value, s)
	}
	return true
}

// The first texts are found when they come again, others from the third time on.
func TestTableFindsWhatCameBefore(t *testing.T) {
	var table Table[string]
	const n = atOnce + 1000
	for round := range 4 {
		late := 0
		for i := range n {
			found := meet(t, &table, text(i, i%40))
			switch {
			case i < atOnce:
				if want := round > 0; found != want {
					t.Fatalf("round %d, text %d: found %t", round, i, found)
				}
			case found:
				late++
			}
		}
		// The hashes of two texts may push each other out.
		if want := max(0, min(round-1, 1)) * (n - atOnce); late > want || late < want*9/10 {
			t.Errorf("round %d: found %d of the later texts, want %d", round, late, want)
		}
	}
}

// In random order, with texts that others start with, what is found is right,
// and most of it is found.
func TestTableOfRandomTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table Table[string]
	hits, lookups := 0, 0
	for i := range 200_000 {
		n := rng.IntN(5000)
		found := meet(t, &table, text(n, n%13))
		if i > 50_000 {
			lookups++
			if found {
				hits++
			}
		}
	}
	if hits < lookups*95/100 {
		t.Errorf("%d hits of %d", hits, lookups)
	}
}

func TestTableIsBounded(t *testing.T) {
	var table Table[string]
	long := strings.Repeat("y", maxText-20)
	for i := range 3 * maxTexts {
		s := text(i, 0)
		if i%8 == 0 {
			s = fmt.Sprintf("[%d%s]", i, long)
		}
		table.Wants([]byte(s))
		if table.Wants([]byte(s)) {
			table.Add([]byte(s), "")
		}
		if table.known.n > maxTexts || table.known.bytes > maxBytes || len(table.buckets) > maxBuckets {
			t.Fatalf("%d texts of %d bytes, %d buckets", table.known.n, table.known.bytes, len(table.buckets))
		}
	}
	if table.Wants([]byte(strings.Repeat("z", maxText+1))) || table.Wants(nil) {
		t.Error("wants a text that is too long, or none")
	}
}

// A Table rests where nothing repeats, and wakes up when something does.
func TestTableRests(t *testing.T) {
	var table Table[string]
	for i := 0; table.pause.rests == 0; i++ {
		meet(t, &table, text(i, 0))
		if i > watched {
			t.Fatal("does not rest")
		}
	}
	rested := 0
	for !table.Awake() {
		rested++
	}
	if rested != firstRest {
		t.Errorf("rested for %d look-ups, want %d", rested, firstRest)
	}
	for range 2 {
		for i := range 10 {
			meet(t, &table, text(i, 0))
		}
	}
	for i := range 10 {
		if !meet(t, &table, text(i, 0)) {
			t.Errorf("text %d is not found after the rest", i)
		}
	}
}

// Guesses that are mostly wrong are given up for a while.
func TestTableGuesses(t *testing.T) {
	var table Table[string]
	for range 5 {
		for i := range 100 {
			meet(t, &table, text(i, 0))
		}
	}
	if table.guess.pause > 0 {
		t.Error("no guesses although they are right")
	}
	value, guess := table.Expected()
	if value == nil || string(guess) != text(0, 0) {
		t.Errorf("guesses %q behind the last text, want the first", guess)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; table.guess.pause == 0; i++ {
		meet(t, &table, text(rng.IntN(100), 0))
		if i > 10*guessed {
			t.Fatal("guesses on although they are wrong")
		}
	}
}

func BenchmarkTable(b *testing.B) {
	const texts = 16_000
	tail := strings.Repeat("x", 400)
	all := make([][]byte, texts)
	var table Table[int]
	for i := range all {
		all[i] = fmt.Appendf(nil, "[%d%s]", i, tail)
	}
	find := func(s []byte) bool {
		if value, expected := table.Expected(); value != nil && bytes.HasPrefix(s, expected) {
			table.Right()
			return true
		}
		return table.Find(s) != nil
	}
	for range 3 {
		for i, s := range all {
			if !find(s) && table.Wants(s) {
				table.Add(s, i)
			}
		}
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(texts)
	b.Run("in order", func(b *testing.B) {
		for i := range b.N {
			find(all[i%texts])
		}
	})
	b.Run("any order", func(b *testing.B) {
		for i := range b.N {
			find(all[order[i%texts]])
		}
	})
}
