package jsontext

import (
	"encoding/binary"
	"math/bits"
)

// maxDigits is how many digits an int64 may have.
const maxDigits = 19

var pow10 = [8]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// leadingDigits returns the number that the digits at the start of b stand for,
// and how many they are. The number is right for up to maxDigits of them.
//
// Eight bytes are looked at at a time: a Unix time in nanoseconds takes a quarter
// of what it does digit by digit.
func leadingDigits(b []byte) (v uint64, n int) {
	const zeros, highs = 0x3030303030303030, 0x8080808080808080
	for n <= maxDigits && len(b)-n >= 8 {
		x := binary.LittleEndian.Uint64(b[n:]) ^ zeros // 0 to 9 for a digit
		// A byte that is no digit may spoil those above it; the lowest is right.
		other := (x | (x + 0x7676767676767676)) & highs
		if other == 0 {
			v = v*100_000_000 + eightDigits(x)
			n += 8
			continue
		}
		// k digits, with zeros in front to make them eight.
		k := bits.TrailingZeros64(other) / 8
		if k > 0 {
			v = v*pow10[k&7] + eightDigits(x<<(64-8*k))
		}
		return v, n + k
	}
	for ; n < len(b) && b[n]-'0' <= 9 && n <= maxDigits; n++ {
		v = v*10 + uint64(b[n]-'0')
	}
	return v, n
}

// eightDigits puts eight digits together, the first one lowest: pairs, then
// quadruples, then all, by one multiplication each.
func eightDigits(x uint64) uint64 {
	const mask = 0x000000ff000000ff
	x = x*10 + x>>8
	return ((x&mask)*(100+1000000<<32) + (x>>16&mask)*(1+10000<<32)) >> 32
}

// parseDigits returns the number that text of up to 19 digits stands for, and
// false where it is no int64 or there is anything else.
func parseDigits(b []byte) (int64, bool) {
	v, n := leadingDigits(b)
	return int64(v), 0 < n && n == len(b) && n <= maxDigits && v < 1<<63
}
