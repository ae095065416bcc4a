package lexer

import "unicode/utf8"

// ValidUTF8 returns v with U+FFFD for each byte that is not UTF-8, like encoding/json.
func ValidUTF8(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	return string([]rune(v))
}
