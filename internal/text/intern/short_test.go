package intern

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// The words of a text depend on its bytes alone, and differ from any other text's.
func TestWordsOf(t *testing.T) {
	seen := map[Words]string{}
	for n := range 40 {
		for i := range n + 1 {
			text := bytes.Repeat([]byte("k"), n)
			if i < n {
				text[i] = 0
			}
			var words Words
			for _, behind := range []string{strings.Repeat("x", 24), strings.Repeat("\xff", 24), ""} {
				b := append(slices.Clip(text), behind...)[:n]
				if behind == "" {
					b = slices.Clip(text)
				}
				w, ok := WordsOf(b)
				if want := n <= 23 && cap(b) >= 24; ok != want {
					t.Fatalf("%q with %d bytes behind it: %t", text, cap(b)-n, ok)
				}
				if !ok {
					continue
				}
				if words != (Words{}) && w != words {
					t.Fatalf("%q: %x, then %x", text, words, w)
				}
				words = w
			}
			if other, ok := seen[words]; ok && n <= 23 {
				t.Fatalf("%q and %q: %x", text, other, words)
			}
			seen[words] = string(text)
		}
	}
}
