package jsontext

// QuotedHex reads a string of exactly 2×len(dst) hexadecimal digits into dst. It
// reports false, and reads nothing, where something else stands there.
func (l *Lexer) QuotedHex(dst []byte) bool {
	l.Peek()
	p := Plain{l.buf[l.pos:]}
	if !p.QuotedHex(dst) {
		return false
	}
	l.pos = len(l.buf) - len(p.Rest)
	return true
}

// QuotedNanos reads a string of 19 digits, as a Unix time in nanoseconds has
// from 2001 on. It reports false, and reads nothing, where something else stands
// there.
func (l *Lexer) QuotedNanos() (v int64, ok bool) {
	l.Peek()
	start, end := l.pos+1, l.pos+1+19
	if end >= len(l.buf) || l.buf[start-1] != '"' || l.buf[end] != '"' {
		return 0, false
	}
	if v, ok = parseDigits(l.buf[start:end]); ok {
		l.pos = end + 1
	}
	return v, ok
}
