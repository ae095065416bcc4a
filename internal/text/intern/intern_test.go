package intern

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/optrace/optrace/internal/testing/check"
)

// The caller's buffer is reused: the table must keep a copy.
func TestString(t *testing.T) {
	var table Table
	for _, s := range []string{"", "a", "matmul", "cuda:0", "cuda:1", strings.Repeat("x", maxLength),
		strings.Repeat("x", maxLength+1)} {
		for range 2 {
			buf := []byte(s)
			got := table.String(buf)
			clear(buf)
			check.Equal(t, fmt.Sprintf("String(%q)", s), s, got)
		}
	}
}

func TestStringIsShared(t *testing.T) {
	var table Table
	first := table.String([]byte("matmul"))
	// Names of one slot must not evict each other for good.
	for i := range 10 * recentSlots {
		table.String([]byte("op_" + strconv.Itoa(i)))
	}
	again := table.String([]byte("matmul"))
	if unsafe.StringData(first) != unsafe.StringData(again) {
		t.Error("equal bytes give two strings")
	}
}

func TestBounds(t *testing.T) {
	var table Table
	for i := range 3 * maxEntries {
		s := strconv.Itoa(i)
		if got := table.String([]byte(s)); got != s {
			t.Fatalf("String(%q) = %q", s, got)
		}
		if len(table.strings) > maxEntries {
			t.Fatalf("%d strings are kept", len(table.strings))
		}
	}
	table = Table{}
	table.String([]byte(strings.Repeat("x", maxLength+1)))
	check.Equal(t, "a long string is kept", 0, len(table.strings))
}

func TestRepeatedStringsDoNotAllocate(t *testing.T) {
	var table Table
	names := make([][]byte, 2*recentSlots)
	for i := range names {
		names[i] = []byte("operation_" + strconv.Itoa(i))
	}
	read := func() {
		for _, n := range names {
			table.String(n)
		}
	}
	read()
	check.Equal(t, "allocations", 0, testing.AllocsPerRun(10, read))
}

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
