package jsontext

import "encoding/binary"

// digits8 returns the number that eight digits stand for, and false where one of
// the bytes is none. Pairs, then quadruples, then all eight are put together by
// one multiplication each: a Unix time in nanoseconds takes a third of what it
// does digit by digit.
func digits8(b []byte) (uint64, bool) {
	const zeros, highs = 0x3030303030303030, 0x8080808080808080
	x := binary.LittleEndian.Uint64(b)
	v := x ^ zeros // 0 to 9 for a digit
	if (v|(v+0x7676767676767676))&highs != 0 {
		return 0, false
	}
	v = v*10 + v>>8
	const mask = 0x000000ff000000ff
	return ((v&mask)*(100+1000000<<32) + (v>>16&mask)*(1+10000<<32)) >> 32, true
}

// parseDigits returns the number that up to 19 digits stand for, and false where
// it is no int64 or there is anything else.
func parseDigits(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	n := uint64(0)
	for len(b) >= 8 {
		v, ok := digits8(b)
		if !ok {
			return 0, false
		}
		n = n*1e8 + v
		b = b[8:]
	}
	for _, c := range b {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return int64(n), n < 1<<63
}
