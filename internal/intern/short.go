package intern

import "math/bits"

// Words stand for a short text, as jsontext.QuotedWords returns them: different ones for
// different texts, and all 0 for an empty one.
type Words struct{ First, Second, Third uint64 }

// Short is a cache of texts by their words: nothing but these is compared. The zero
// value is ready to use.
type Short struct {
	slots [recentSlots]struct {
		words Words
		text  string
	}
}

// Find returns the text that the cache holds for its words.
func (s *Short) Find(w Words) (text string, ok bool) {
	slot := &s.slots[w.slot()]
	return slot.text, slot.words == w
}

// Add puts a text into the cache.
func (s *Short) Add(w Words, text string) {
	slot := &s.slots[w.slot()]
	slot.words, slot.text = w, text
}

func (w Words) slot() uint64 {
	h := w.First ^ bits.RotateLeft64(w.Second, 21) ^ bits.RotateLeft64(w.Third, 42)
	return h * 0x9e3779b97f4a7c15 >> (64 - recentBits)
}
