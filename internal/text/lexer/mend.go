package lexer

import (
	"bytes"
	"regexp"
)

var nonFinite = regexp.MustCompile(`^(?i:[-+]?(nan|inf|infinity))$`)

// Mend appends text to dst without some faults of writers, and reports whether there were any. A bare word that is no
// JSON becomes a string: NaN, inf and the like anywhere, any other word within so many brackets. In a string with an
// unknown escape, such as a path of Windows, all backslashes are plain, except those before a quote or a backslash. A
// comma in front of a closing bracket goes. A string without an end ends the mending.
func Mend(dst, text []byte, depth int) (mended []byte, found bool) {
	open := 0
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; c {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case ' ', '\t', '\r', '\n', ':':
		case ',':
			if next := Space(text, end); next < len(text) && (text[next] == '}' || text[next] == ']') {
				found = true
				i = end
				continue
			}
		case '"':
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) || text[end] == '\n' {
				return append(dst, text[i:]...), found
			}
			end++
			if passString(text[i:end], 0) < 0 {
				found = true
				dst = mendString(dst, text[i:end])
				i = end
				continue
			}
		default:
			for end < len(text) && bytes.IndexByte([]byte("{}[],:\" \t\r\n"), text[end]) < 0 {
				end++
			}
			word := text[i:end]
			if Value(word, 0) != len(word) && (open >= depth || nonFinite.Match(word)) {
				found = true
				dst = AppendString(dst, string(word))
				i = end
				continue
			}
		}
		dst = append(dst, text[i:end]...)
		i = end
	}
	return dst, found
}

// mendString appends a string with plain backslashes, and with control characters as escapes.
func mendString(dst, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			dst = append(dst, c, text[i+1])
			i++
		case c == '\\':
			dst = append(dst, `\\`...)
		case c < ' ':
			dst = append(append(dst, `\u00`...), hexDigits[c>>4], hexDigits[c&0xf])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
