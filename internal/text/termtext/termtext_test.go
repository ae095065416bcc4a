package termtext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

func TestClean(t *testing.T) { golden.Lines(t, "testdata/clean.txt", Clean) }

func TestEscape(t *testing.T) { golden.Lines(t, "testdata/escape.txt", Escape) }

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"matmul", "\x1b[31mred", "\u202e\u009b", "\xff\x1b]", "矩阵\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Escape(s) {
			if !unicode.IsPrint(r) {
				t.Errorf("Escape(%q) leaves %q", s, r)
			}
		}
		text := check.Must(json.Marshal(s))(t)
		escaped := EscapeJSON(text)
		for _, r := range string(escaped) {
			if !unicode.IsPrint(r) {
				t.Errorf("EscapeJSON(%q) leaves %q", text, r)
			}
		}
		var got, want string
		if err := errors.Join(json.Unmarshal(escaped, &got), json.Unmarshal(text, &want)); err != nil || got != want {
			t.Errorf("EscapeJSON(%q) = %q, which is %q and not %q: %v", text, escaped, got, want, err)
		}
	})
}

// A Writer's output does not depend on the division of the text, and no terminal obeys it.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"matmul\n", "\x1b[31mred\x1b[0m", "\u202e\u009b\x9b", "矩阵\U000e0041\xe7\x9f",
		"{\"a\":\"\u0085\"}\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		at = min(max(at, 0), len(s))
		var whole, parts strings.Builder
		for _, w := range []struct {
			to    *strings.Builder
			texts []string
		}{{&whole, []string{s}}, {&parts, []string{s[:at], s[at:]}}} {
			to := NewWriter(w.to)
			for _, text := range w.texts {
				if n, err := to.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatalf("%d bytes of %d, %v", n, len(text), err)
				}
			}
		}
		if whole.String() != parts.String() {
			t.Errorf("%q in two parts: %q, as a whole: %q", s, parts.String(), whole.String())
		}
		for _, r := range whole.String() {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%q leaves %q", s, r)
			}
		}
		if text, err := json.Marshal(s); err == nil && json.Valid(text) {
			var escaped strings.Builder
			check.Must(NewWriter(&escaped).Write(text))(t)
			var got, want string
			if err := errors.Join(json.Unmarshal([]byte(escaped.String()), &got),
				json.Unmarshal(text, &want)); err != nil || got != want {
				t.Errorf("JSON %q is written as %q: %v", text, escaped.String(), err)
			}
		}
	})
}

func TestWidths(t *testing.T) {
	golden.Lines(t, "testdata/widths.txt", func(line string) string {
		columns, text, _ := strings.Cut(line, " ")
		n := check.Must(strconv.Atoi(columns))(t)
		return fmt.Sprintf("%d columns, truncated %q, shortened %q", Width(text), Truncate(text, n), Shorten(text, n))
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"matmul", "\x1b[31mred", "\u202e", "\xff\x1b]", "矩阵"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		c := Clean(s)
		for _, r := range c {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("Clean(%q) = %q holds %U", s, c, r)
			}
		}
		if !utf8.ValidString(c) || s != "" && c == "" {
			t.Fatalf("Clean(%q) = %q", s, c)
		}
		if cut := Truncate(c, width); Width(cut) > max(width, 0) {
			t.Fatalf("Truncate(%q, %d) = %q", c, width, cut)
		}
		if short := Shorten(c, width); Width(short) > max(width, 0) || !utf8.ValidString(short) {
			t.Fatalf("Shorten(%q, %d) = %q", c, width, short)
		}
		lines := Wrap(c, max(width, 2), max(width, 2))
		for _, line := range lines {
			if Width(line) > max(width, 2) {
				t.Fatalf("Wrap(%q, %d) = %q", c, width, lines)
			}
		}
		withoutSpaces := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if withoutSpaces(strings.Join(lines, "")) != withoutSpaces(c) {
			t.Fatalf("Wrap(%q, %d) = %q", c, width, lines)
		}
	})
}

func TestWrap(t *testing.T) {
	golden.Lines(t, "testdata/wrap.txt", func(line string) string {
		first, rest, _ := strings.Cut(line, " ")
		further, text, _ := strings.Cut(rest, " ")
		a, b := check.Must(strconv.Atoi(first))(t), check.Must(strconv.Atoi(further))(t)
		return strings.Join(Wrap(text, a, b), " | ")
	})
}

func TestHeadAndTail(t *testing.T) {
	golden.Lines(t, "testdata/ends.txt", func(line string) string {
		columns, text, _ := strings.Cut(line, " ")
		n := check.Must(strconv.Atoi(columns))(t)
		return fmt.Sprintf("head %q, tail %q", Head(text, n), Tail(text, n))
	})
}
