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
	quoted := strconv.Quote(s)
	return unquote.Replace(quoted[1 : len(quoted)-1])
}

// unquote undoes what only a literal needs.
var unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

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
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// escapeSequence returns the length of the ANSI escape sequence that s starts
// with, 0 for none.
func escapeSequence(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch s[1] {
	case '[': // CSI: parameters, then one byte that ends it
		if i := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e }); i >= 0 {
			return 2 + i + 1
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
