// Package wide adds integers in 192 bits. Sums of durations, of their squares and of sizes then neither overflow nor
// depend on the order of additions.
package wide

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/model/opmodel"
)

// Sum is a sum of non-negative integers in 192 bits. The zero value is 0.
type Sum struct{ lo, mid, hi uint64 }

// Add adds v. Negative values count as 0.
func (w *Sum) Add(v int64) {
	if v <= 0 {
		return
	}
	w.lo += uint64(v)
	if w.lo < uint64(v) {
		if w.mid++; w.mid == 0 {
			w.hi++
		}
	}
}

// Sub subtracts v, which must have been added before. Negative values count as 0.
func (w *Sum) Sub(v int64) {
	var borrow uint64
	w.lo, borrow = bits.Sub64(w.lo, uint64(max(v, 0)), 0)
	w.mid, borrow = bits.Sub64(w.mid, 0, borrow)
	w.hi -= borrow
}

// AddSquare adds v×v.
func (w *Sum) AddSquare(v int64) {
	hi, lo := bits.Mul64(uint64(max(v, 0)), uint64(max(v, 0)))
	w.AddWords(0, hi, lo)
}

// AddProduct adds (mid·2^64 + lo) × v.
func (w *Sum) AddProduct(mid, lo uint64, v int64) {
	u := uint64(max(v, 0))
	lowHi, lowLo := bits.Mul64(lo, u)
	midHi, midLo := bits.Mul64(mid, u)
	sum, carry := bits.Add64(lowHi, midLo, 0)
	w.AddWords(midHi+carry, sum, lowLo)
}

// Merge adds o.
func (w *Sum) Merge(o Sum) { w.AddWords(o.hi, o.mid, o.lo) }

// AddWords adds hi·2^128 + mid·2^64 + lo.
func (w *Sum) AddWords(hi, mid, lo uint64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.mid, carry = bits.Add64(w.mid, mid, carry)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

// Int64 returns the sum, or the largest int64 if it does not fit.
func (w Sum) Int64() int64 {
	if w.ExceedsInt64() {
		return math.MaxInt64
	}
	return int64(w.lo)
}

// ExceedsInt64 reports whether the sum does not fit an int64.
func (w Sum) ExceedsInt64() bool { return w.hi != 0 || w.mid != 0 || w.lo > math.MaxInt64 }

// Float64 returns the sum, rounded to the nearest float64.
func (w Sum) Float64() float64 {
	if w.hi == 0 && w.mid == 0 {
		return float64(w.lo)
	}
	f, _ := new(big.Float).SetInt(w.big()).Float64()
	return f
}

func (w Sum) big() *big.Int {
	n := new(big.Int).SetUint64(w.hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.mid))
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.lo))
}

// SampleStd returns the sample standard deviation of n values from their sum and the sum of their squares:
// sqrt((n·Σx² − (Σx)²) / (n·(n−1))). The numerator is exact because its terms nearly cancel. ok is false for n < 2.
func SampleStd(sum, squares Sum, n int64) (std float64, ok bool) {
	if n < 2 {
		return 0, false
	}
	count := big.NewInt(n)
	numerator := new(big.Int).Mul(count, squares.big())
	s := sum.big()
	numerator.Sub(numerator, s.Mul(s, s))
	denominator := new(big.Int).Mul(count, big.NewInt(n-1))
	// Both operands are exact, so the quotient is rounded once.
	quotient := new(big.Float).SetPrec(53).Quo(new(big.Float).SetInt(numerator), new(big.Float).SetInt(denominator))
	variance, _ := quotient.Float64()
	return math.Sqrt(variance), true
}

// Possible reports whether n values can have this sum and sum of squares: n·Σx² ≥ (Σx)².
func Possible(sum, squares Sum, n int64) bool {
	s := sum.big()
	return new(big.Int).Mul(big.NewInt(n), squares.big()).Cmp(s.Mul(s, s)) >= 0
}

// AddSaturating returns a + b, or the nearest int64 if the sum does not fit.
func AddSaturating(a, b int64) int64 { return opmodel.AddSaturating(a, b) }

// MarshalJSON returns the sum as an integer of any size.
func (w Sum) MarshalJSON() ([]byte, error) {
	if w.hi == 0 && w.mid == 0 {
		return strconv.AppendUint(nil, w.lo, 10), nil
	}
	return w.big().Append(nil, 10), nil
}

// Bounds of numbers in partial results, so that sums over many files do not overflow: counts, and sums as a power of
// two.
const (
	MaxCount   = 1 << 48
	maxSumBits = 176
	maxDigits  = 53 // of maxSumBits
)

// AreCounts reports whether all numbers are valid counts in partial results.
func AreCounts(all ...int64) bool {
	return !slices.ContainsFunc(all, func(n int64) bool { return n < 0 || n > MaxCount })
}

// UnmarshalJSON reads the form of MarshalJSON. It returns an error for sums out of the range of partial results.
func (w *Sum) UnmarshalJSON(text []byte) error {
	*w = Sum{}
	if v, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		w.lo = v
		return nil
	}
	if len(text) > maxDigits || len(bytes.Trim(text, "0123456789")) > 0 {
		return fmt.Errorf("%.80q is not a sum", text)
	}
	n, ok := new(big.Int).SetString(string(text), 10)
	if !ok || n.BitLen() > maxSumBits {
		return fmt.Errorf("%.80q is not a sum", text)
	}
	var words [24]byte
	n.FillBytes(words[:])
	w.hi = binary.BigEndian.Uint64(words[:])
	w.mid = binary.BigEndian.Uint64(words[8:])
	w.lo = binary.BigEndian.Uint64(words[16:])
	return nil
}

// Between returns last − first, the largest int64 if the difference does not fit, and 0 for last < first, as for an end
// beyond 64 bits.
func Between(first, last int64) int64 {
	if last < first {
		return 0
	}
	return int64(min(uint64(last)-uint64(first), math.MaxInt64))
}
