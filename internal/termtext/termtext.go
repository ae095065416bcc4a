// Package termtext makes foreign text fit for a terminal: names in traces may
// hold anything, also sequences that move the cursor or reorder the line.
package termtext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean returns s without control characters, escape sequences, bidirectional
// overrides and other invisible formatting. A text of which nothing is left is
// returned quoted.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		if n := escapeSequence(rest); n > 0 {
			rest = rest[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return strconv.QuoteToASCII(s)
	}
	return b.String()
}

// Escape returns s with control characters, invisible formatting and invalid
// UTF-8 replaced by the escape sequences of Go string literals.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		rest = rest[n:]
	}
	return b.String()
}

// EscapeJSON returns a JSON text in which control characters and invisible
// formatting within strings are escaped. The text stands for the same value. The
// JSON encoder has escaped the characters below U+0020 already.
func EscapeJSON(text []byte) []byte {
	isSafe := func(r rune) bool { return r == '\n' || r == utf8.RuneError || strconv.IsPrint(r) }
	if bytes.IndexFunc(text, func(r rune) bool { return !isSafe(r) }) < 0 {
		return text
	}
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case isSafe(r):
			escaped = utf8.AppendRune(escaped, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
	}
	return escaped
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// escapeSequence returns the length of the ANSI escape sequence that s starts
// with, 0 for none.
func escapeSequence(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch s[1] {
	case '[': // CSI: parameters, then one byte that ends it
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '^', '_', 'X': // strings: up to BEL or ESC \
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return len(s)
	}
	return 2
}

// Width returns how many columns s takes: none for combining marks, two for
// wide East Asian characters and pictographs.
func Width(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}
	return w
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide holds the ranges of characters of double width, by block.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, // Hangul jamo
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, // CJK radicals and punctuation
		{Lo: 0x3041, Hi: 0x33ff, Stride: 1}, // kana, bopomofo, compatibility
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, // CJK extension A
		{Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, // CJK
		{Lo: 0xa000, Hi: 0xa4cf, Stride: 1}, // Yi
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, // Hangul
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, // CJK compatibility
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, // vertical and small forms
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, // full-width forms
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, // pictographs
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1}, // CJK extensions
	},
}

// Truncate returns s cut to at most width columns, ending in an ellipsis where
// something was cut. A combining mark stays with its character.
func Truncate(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	used, end := 0, 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > width-1 {
			break
		}
		used += w
		end = i + utf8.RuneLen(r)
	}
	return s[:end] + "…"
}

// Shorten returns s with an ellipsis in place of its middle where it takes more
// than width columns. The end is as long as the beginning, or one column shorter.
func Shorten(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 3 {
		return Truncate(s, width)
	}
	tail := (width - 1) / 2
	start := len(s)
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if tail -= runeWidth(r); tail < 0 {
			break
		}
		start -= n
	}
	return Truncate(s, width-Width(s[start:])) + s[start:]
}

// Split returns s in pieces of at most width columns, but of a character at least.
// A combining mark stays with its character.
func Split(s string, width int) []string {
	var pieces []string
	start, used := 0, 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > width && i > start {
			pieces = append(pieces, s[start:i])
			start, used = i, 0
		}
		used += w
	}
	return append(pieces, s[start:])
}
