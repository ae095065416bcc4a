package sketch

import "math/bits"

// Durations below 128 ns have a bin each. Above, each power of two is divided into 64 equal bins, so a duration differs
// from the middle of its bin by at most 1/128. This is the scale of DDSketch with the logarithm interpolated linearly
// between powers of two.
const binBits = 6

// binOf returns the bin of a duration. Negative durations use the bin of 0.
func binOf(v int64) int {
	u := uint64(max(v, 0))
	shift := max(0, bits.Len64(u)-binBits-1)
	return shift<<binBits + int(u>>shift)
}

func binMiddle(bin int) float64 {
	shift := max(0, bin>>binBits-1)
	first := int64(bin-shift<<binBits) << shift
	return float64(first) + float64(int64(1)<<shift-1)/2
}
