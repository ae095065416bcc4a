package lexer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

var awkwardStrings = []string{
	"", "matmul", "a string of more than eight bytes", `"`, `\`, `quote " and backslash \ late in the string`,
	"\x00\x01\b\t\n\f\r\x1f\x7f", "é€😀", "\u2028\u2029", "</script>", "\xff", "a\xc3", "\xed\xa0\x80", "1234567\x80",
	"\xf0\x9f\x98", "exactly8", "exactly8\n", strings.Repeat("x", 1000) + "\"",
}

// encoding/json and the Lexer read AppendString's text alike.
func checkString(t *testing.T, s string) {
	t.Helper()
	text := lexer.AppendString(nil, s)
	var got string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("AppendString(%q) = %s: %v", s, text, err)
	}
	want := string([]rune(s)) // each byte outside UTF-8 becomes U+FFFD
	check.Equal(t, fmt.Sprintf("AppendString(%q) reads back as", s), want, got)
	check.Equal(t, fmt.Sprintf("ValidUTF8(%q)", s), want, lexer.ValidUTF8(s))
	var l lexer.Lexer
	l.Reset(text)
	if got := string(l.Str()); got != want || l.Err() != nil {
		t.Errorf("Str of %s = %q, %v, want %q", text, got, l.Err(), want)
	}
	if bytes.ContainsAny(text, "\u2028\u2029\x7f") {
		t.Errorf("AppendString(%q) = %s holds a character that breaks others", s, text)
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range awkwardStrings {
		checkString(t, s)
	}
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []string{"a", "matmul", `"`, `\`, "\n", "\x01", "é", "\u2028", "\xff", "\xc3", "😀"}
	for range 2000 {
		var s strings.Builder
		for range r.IntN(20) {
			s.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		checkString(t, s.String())
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range awkwardStrings {
		f.Add(s)
	}
	f.Fuzz(checkString)
}

// The search by eight bytes finds the same end at every offset.
func TestStrEndsAtEveryOffset(t *testing.T) {
	for n := range 40 {
		body := strings.Repeat("\x80z", n)[:n]
		for _, tail := range []string{`"`, `"""""""""`, `",12345678`} {
			var l lexer.Lexer
			l.Reset([]byte(`"` + body + tail))
			if got := string(l.Str()); got != body || l.Offset() != n+2 {
				t.Errorf("length %d, tail %q: %q up to %d", n, tail, got, l.Offset())
			}
		}
	}
}
