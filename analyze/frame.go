package analyze

import (
	"strings"
	"unicode"
)

// escapeFrame makes a name fit for a frame of a collapsed stack: a semicolon
// would end the frame and becomes a colon; control characters and the line and
// paragraph separators would end the line and become spaces; bytes that are not
// UTF-8 become U+FFFD.
func escapeFrame(name string) string { return strings.Map(frameRune, name) }

func frameRune(r rune) rune {
	switch {
	case r == ';':
		return ':'
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return ' '
	}
	return r
}
