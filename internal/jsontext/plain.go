package jsontext

// Plain is a reader of text written in an expected way whose position is part of
// it. Use the functions over an index, such as [Digits], instead.
type Plain struct{ Rest []byte }

// Accept passes over s where it stands next.
func (p *Plain) Accept(s string) bool { return p.passed(Literal(p.Rest, 0, s)) }

// Quoted reads a string without escapes.
func (p *Plain) Quoted() ([]byte, bool) {
	text, end := Quoted(p.Rest, 0)
	return text, p.passed(end)
}

// QuotedHex reads a string of exactly 2×len(dst) hexadecimal digits into dst.
func (p *Plain) QuotedHex(dst []byte) bool { return p.passed(QuotedHex(p.Rest, 0, dst)) }

// Digits reads digits that fit an int64 and have no zero in front. The caller
// makes sure that no fraction or exponent follows.
func (p *Plain) Digits() (int64, bool) {
	v, end := Digits(p.Rest, 0)
	return v, p.passed(end)
}

// Micros reads a number of microseconds with up to three digits behind the point
// and returns it in nanoseconds. The caller makes sure that no further digit, and
// no exponent, follows.
func (p *Plain) Micros() (ns int64, ok bool) {
	ns, end := Micros(p.Rest, 0)
	return ns, p.passed(end)
}

func (p *Plain) passed(end int) bool {
	if end < 0 {
		return false
	}
	p.Rest = p.Rest[end:]
	return true
}
