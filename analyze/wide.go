package analyze

import (
	"math"
	"math/big"
	"math/bits"
)

// wide is a sum of 192 bits. Sums of durations, of their squares and of sizes
// are kept in it, so that they cannot overflow and do not depend on the order
// in which they are added up.
type wide struct{ lo, mid, hi uint64 }

// add adds v; a negative v counts as 0. The higher words are left alone unless
// there is a carry, which saves a third of the time.
func (w *wide) add(v int64) {
	if v <= 0 {
		return
	}
	w.lo += uint64(v)
	if w.lo < uint64(v) {
		w.carry()
	}
}

// carry adds 1 to the higher words.
func (w *wide) carry() {
	if w.mid++; w.mid == 0 {
		w.hi++
	}
}

// addSquare adds v×v.
func (w *wide) addSquare(v int64) {
	hi, lo := bits.Mul64(uint64(max(v, 0)), uint64(max(v, 0)))
	w.addWords(0, hi, lo)
}

// addProduct adds (mid·2^64 + lo) × v.
func (w *wide) addProduct(mid, lo uint64, v int64) {
	u := uint64(max(v, 0))
	lowHi, lowLo := bits.Mul64(lo, u)
	midHi, midLo := bits.Mul64(mid, u)
	sum, carry := bits.Add64(lowHi, midLo, 0)
	w.addWords(midHi+carry, sum, lowLo)
}

// merge adds o.
func (w *wide) merge(o wide) { w.addWords(o.hi, o.mid, o.lo) }

func (w *wide) addWords(hi, mid, lo uint64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.mid, carry = bits.Add64(w.mid, mid, carry)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

// int64 returns the sum, the largest int64 where it does not fit.
func (w wide) int64() int64 {
	if w.exceedsInt64() {
		return math.MaxInt64
	}
	return int64(w.lo)
}

func (w wide) exceedsInt64() bool { return w.hi != 0 || w.mid != 0 || w.lo > math.MaxInt64 }

// float64 returns the sum rounded.
func (w wide) float64() float64 {
	if w.hi == 0 && w.mid == 0 {
		return float64(w.lo)
	}
	f, _ := new(big.Float).SetInt(w.big()).Float64()
	return f
}

func (w wide) big() *big.Int {
	n := new(big.Int).SetUint64(w.hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.mid))
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.lo))
}

// sampleStd returns the sample standard deviation of n values from their sum
// and the sum of their squares: sqrt((n·Σx² − (Σx)²) / (n·(n−1))). The
// numerator is computed exactly, because its terms nearly cancel. ok is false
// for fewer than two samples.
func sampleStd(sum, squares wide, n int64) (std float64, ok bool) {
	if n < 2 {
		return 0, false
	}
	count := big.NewInt(n)
	numerator := new(big.Int).Mul(count, squares.big())
	s := sum.big()
	numerator.Sub(numerator, s.Mul(s, s))
	denominator := new(big.Int).Mul(count, big.NewInt(n-1))
	// Both operands are exact and the quotient is rounded once.
	quotient := new(big.Float).SetPrec(53).Quo(new(big.Float).SetInt(numerator), new(big.Float).SetInt(denominator))
	variance, _ := quotient.Float64()
	return math.Sqrt(variance), true
}
