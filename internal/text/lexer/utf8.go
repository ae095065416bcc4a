package lexer

import "unicode/utf8"

// ValidUTF8 returns v with each byte that is not UTF-8 replaced by U+FFFD, as
// encoding/json does.
func ValidUTF8(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	return string([]rune(v))
}
