package stacks

import (
	"strings"
	"unicode"
)

// Escape returns a name as a frame of a collapsed stack. A semicolon, which
// separates frames, becomes a colon. Control characters and the line and
// paragraph separators, which would end the line, become spaces, and bytes that
// are not UTF-8 become U+FFFD.
func Escape(name string) string { return strings.Map(escapeRune, name) }

func escapeRune(r rune) rune {
	switch {
	case r == ';':
		return ':'
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return ' '
	}
	return r
}
