package jsontext

// Plain reads text piece by piece that is expected to be written in a certain
// way, without white space. Its methods report false, and may have read a part,
// where something else stands there; callers then read the text anew with a
// [Lexer]. Comparing whole pieces takes a third of what reading token by token
// does.
type Plain struct{ Rest []byte }

// Accept passes over s where it stands next.
func (p *Plain) Accept(s string) bool {
	if len(p.Rest) < len(s) || string(p.Rest[:len(s)]) != s {
		return false
	}
	p.Rest = p.Rest[len(s):]
	return true
}

// Quoted reads a string without escapes.
func (p *Plain) Quoted() ([]byte, bool) {
	if len(p.Rest) == 0 || p.Rest[0] != '"' {
		return nil, false
	}
	n := 1 + PlainPrefix(p.Rest[1:])
	if n >= len(p.Rest) || p.Rest[n] != '"' {
		return nil, false
	}
	text := p.Rest[1:n]
	p.Rest = p.Rest[n+1:]
	return text, true
}

// QuotedHex reads a string of exactly 2×len(dst) hexadecimal digits into dst.
func (p *Plain) QuotedHex(dst []byte) bool {
	end := 1 + 2*len(dst)
	if end >= len(p.Rest) || p.Rest[0] != '"' || p.Rest[end] != '"' || !DecodeHex(dst, p.Rest[1:end]) {
		return false
	}
	p.Rest = p.Rest[end+1:]
	return true
}

// Digits reads digits that fit an int64 and have no zero in front. The caller
// makes sure that no fraction or exponent follows.
func (p *Plain) Digits() (int64, bool) {
	v, n := leadingDigits(p.Rest)
	if n == 0 || n > maxDigits || v >= 1<<63 || p.Rest[0] == '0' && n > 1 {
		return 0, false
	}
	p.Rest = p.Rest[n:]
	return int64(v), true
}

// Micros reads a number of microseconds with up to three digits behind the point
// and returns it in nanoseconds. The caller makes sure that no further digit, and
// no exponent, follows.
func (p *Plain) Micros() (ns int64, ok bool) {
	u, n := leadingDigits(p.Rest)
	if n == 0 || n > maxDigits-4 || p.Rest[0] == '0' && n > 1 {
		return 0, false
	}
	rest := p.Rest[n:]
	u *= 1000
	if len(rest) > 0 && rest[0] == '.' {
		fraction, m := leadingDigits(rest[1:])
		if m == 0 || m > 3 {
			return 0, false
		}
		u += fraction * pow10[3-m]
		rest = rest[1+m:]
	}
	p.Rest = rest
	return int64(u), true
}
