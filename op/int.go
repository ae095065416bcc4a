package op

import (
	"math"
	"strconv"
)

// Int is an integer that may be unknown. The zero value is unknown.
type Int struct {
	// V is the value; 0 when it is not known.
	V int64
	// Known is set if V was given.
	Known bool
}

// Known returns an Int of value v.
func Known(v int64) Int { return Int{V: v, Known: true} }

// Or returns the value, or def when it is not known.
func (i Int) Or(def int64) int64 {
	if i.Known {
		return i.V
	}
	return def
}

// String returns the value in decimal, "unknown" when it is not known.
func (i Int) String() string {
	if !i.Known {
		return "unknown"
	}
	return strconv.FormatInt(i.V, 10)
}

// MarshalJSON returns the value, null when it is not known.
func (i Int) MarshalJSON() ([]byte, error) { return i.append(nil), nil }

func (i Int) append(dst []byte) []byte {
	if !i.Known {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, i.V, 10)
}

// addSaturating returns a + b, limited to the range of int64. Sums over a whole
// trace must not wrap.
func addSaturating(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}
