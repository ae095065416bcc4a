package intern

import (
	"encoding/binary"
	"math/bits"
)

// Words identify a short text: different texts have different Words. All are 0 for the empty text.
type Words struct{ First, Second, Third uint64 }

const maxShort = 23 // the length of the longest text with Words

// WordsOf returns the words of b in the form of lexer.QuotedWords, its length in the highest byte. ok is false if b is
// longer than 23 bytes or lies in the last 24 bytes of its memory.
func WordsOf(b []byte) (w Words, ok bool) {
	n := len(b)
	if n > maxShort || cap(b) <= maxShort {
		return Words{}, false
	}
	text := (*[maxShort + 1]byte)(b[:maxShort+1])
	w.First = binary.LittleEndian.Uint64(text[:]) & lowBytes(n)
	w.Second = binary.LittleEndian.Uint64(text[8:]) & lowBytes(n-8)
	w.Third = binary.LittleEndian.Uint64(text[16:])&lowBytes(n-16) | uint64(n)<<56
	return w, true
}

// lowBytes returns a word with its n lowest bytes set: 0 bytes below 1, all above 7.
func lowBytes(n int) uint64 { return 1<<(8*max(n, 0)) - 1 }

// Short is a cache of texts by their Words, the only thing compared. The zero value is ready to use.
type Short struct {
	slots [recentSlots]struct {
		words Words
		text  string
	}
}

// Find returns the cached text of its words.
func (s *Short) Find(w Words) (text string, ok bool) {
	slot := &s.slots[w.slot()]
	return slot.text, slot.words == w
}

// Add puts a text into the cache.
func (s *Short) Add(w Words, text string) {
	slot := &s.slots[w.slot()]
	slot.words = w
	slot.text = text
}

func (w Words) slot() uint64 {
	h := w.First ^ bits.RotateLeft64(w.Second, 21) ^ bits.RotateLeft64(w.Third, 42)
	return h * 0x9e3779b97f4a7c15 >> (64 - recentBits)
}
