package lexer

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/scalar"
)

// Str reads a string and returns its unescaped bytes, valid until the next call. Invalid UTF-8 stays.
func (l *Lexer) Str() []byte {
	if l.Peek() != '"' {
		l.fail("expected a string")
		return nil
	}
	if text, end := Quoted(l.buf, l.pos); end >= 0 {
		l.pos = end
		return text
	}
	start := l.pos + 1
	return l.escaped(start, start+PlainPrefix(l.buf[start:]))
}

// AnyStr is Str, except that it skips a value of another type and returns nil.
func (l *Lexer) AnyStr() []byte {
	if l.Peek() == '"' {
		return l.Str()
	}
	l.Skip()
	return nil
}

// escapes are the characters of letters behind a backslash, 0 for other letters.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads the string at start. Its first byte that is not plain is at i.
func (l *Lexer) escaped(start, i int) []byte {
	out := append(l.scratch[:0], l.buf[start:i]...)
	for i+1 < len(l.buf) && l.buf[i] == '\\' {
		switch e := l.buf[i+1]; {
		case e == 'u':
			r, n := l.unicode(i)
			if n == 0 {
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
		case escapes[e] != 0:
			out = append(out, escapes[e])
		default:
			l.failAt("invalid escape in a string", i)
			return nil
		}
		i += 2
		n := PlainPrefix(l.buf[i:])
		out = append(out, l.buf[i:i+n]...)
		i += n
	}
	l.scratch = out
	switch {
	case i >= len(l.buf) || l.buf[i] == '\\':
		l.failEnd()
		return nil
	case l.buf[i] != '"':
		l.failAt("control character in a string", i)
		return nil
	}
	l.pos = i + 1
	return out
}

// unicode decodes the \uXXXX at i and a low surrogate behind it, and returns their size; 0 after an error.
func (l *Lexer) unicode(i int) (r rune, size int) {
	r, ok := hex4(l.buf, i+2)
	switch {
	case i+6 > len(l.buf):
		l.failEnd()
		return 0, 0
	case !ok:
		l.failAt(`invalid \u escape in a string`, i)
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if i+7 < len(l.buf) && l.buf[i+6] == '\\' && l.buf[i+7] == 'u' {
		if low, ok := hex4(l.buf, i+8); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte, i int) (rune, bool) {
	var v [2]byte
	if i+4 > len(b) || !scalar.DecodeHex(v[:], b[i:i+4]) {
		return 0, false
	}
	return rune(v[0])<<8 | rune(v[1]), true
}
