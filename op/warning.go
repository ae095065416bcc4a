package op

import (
	"iter"
	"math/bits"
)

// Warning is a set of problems in the source of an entry. The entry is kept; reports count and show its warnings.
type Warning uint32

// The warnings.
const (
	// WarnBadShape: a shape of a wrong type, an unreadable text or a dimension below -1. The shape is unknown.
	WarnBadShape       Warning = 1 << iota
	WarnDynamicDim             // a dimension is -1; elements and bytes are unknown
	WarnOverflow               // the number of elements or bytes does not fit an int64 and is unknown
	WarnShapeTruncated         // more dimensions or inputs than MaxRank or MaxInputs
	// WarnBadValue: an attribute of the wrong type or out of range. The field is unknown.
	WarnBadValue
	WarnBadMemory        // a negative, fractional or too large memory size
	WarnUnknownDType     // an unrecognised element type
	WarnNegativeDuration // the end lies before the start; the duration is 0
	// WarnBadTime: a start or end of zero or outside int64 nanoseconds. The start is unknown.
	WarnBadTime
	WarnBadID             // a trace or span id of zero or not hexadecimal
	WarnNonFinite         // a NaN or infinite number was left out
	WarnInvalidUTF8       // in text, bytes outside UTF-8 became U+FFFD
	WarnDroppedAttributes // the SDK's limits dropped attributes of the span
	WarnNoStart           // the source has no start times (the seed's JSON)
	WarnMicroseconds      // the source keeps microseconds only (Jaeger's v1 JSON)
	WarnDroppedLinks      // links of the span were dropped, by the SDK's limits or beyond MaxLinks

	warnEnd
)

var warningNames = [...]string{
	"bad_shape", "dynamic_dim", "overflow", "shape_truncated", "bad_value", "bad_memory", "unknown_dtype",
	"neg_duration", "bad_time", "bad_id", "non_finite", "invalid_utf8", "dropped_attributes", "no_start",
	"us_truncated", "dropped_links",
}

// String returns the name of the lowest warning in the set, "" for an empty set.
func (w Warning) String() string {
	if i := bits.TrailingZeros32(uint32(w)); i < len(warningNames) {
		return warningNames[i]
	}
	return ""
}

// All yields each warning of the set by itself.
func (w Warning) All() iter.Seq[Warning] {
	return func(yield func(Warning) bool) {
		for rest := w; rest != 0; rest &= rest - 1 {
			if !yield(rest & -rest) {
				return
			}
		}
	}
}

// ParseWarning returns the warning called s.
func ParseWarning(s string) (w Warning, ok bool) {
	for i, name := range warningNames {
		if s == name {
			return 1 << i, true
		}
	}
	return 0, false
}

func warnUnless(ok bool, w Warning) Warning {
	if ok {
		return 0
	}
	return w
}
