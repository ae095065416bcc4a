package lexer

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	tokens    = regexp.MustCompile(`,\s*[}\]]|[{}\[\]]|"(?:[^"\\\n]|\\[^\n])*"|[^\s{}\[\],:"]+`)
	nonFinite = regexp.MustCompile(`^(?i:[-+]?(nan|inf|infinity))$`)
	escaped   = regexp.MustCompile(`\\["\\]|[\\\x00-\x1f]`)
)

// Mend returns text without some faults of writers, and reports whether there were any. A bare word that is no JSON becomes
// a string: NaN, inf and the like anywhere, any other word within so many brackets. In a string with an unknown escape,
// such as a path of Windows, all backslashes but those before a quote or a backslash are plain. A comma in front of a
// closing bracket goes.
func Mend(text []byte, depth int) (mended []byte, found bool) {
	mended = tokens.ReplaceAllFunc(text, func(token []byte) []byte {
		switch c := token[0]; {
		case c == '{', c == '[':
			depth--
		case c == ',', c == '}', c == ']':
			depth++
			return token[len(token)-1:]
		case Value(token, 0) == len(token):
		case c == '"':
			return escaped.ReplaceAllFunc(token, func(part []byte) []byte {
				if len(part) > 1 {
					return part
				}
				return fmt.Appendf(nil, `\u%04x`, part[0])
			})
		case depth <= 0, nonFinite.Match(token):
			return AppendString(nil, string(token))
		}
		return token
	})
	return mended, !bytes.Equal(mended, text)
}
