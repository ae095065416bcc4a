package spanattr

import (
	"math"
	"strconv"
	"strings"
)

// AppendTraceState appends the trace state of a span that represents count spans,
// which is at least 1: the rejection threshold T = 2^56 (1 - 1/count), in
// hexadecimal without trailing zeros.
func AppendTraceState(dst []byte, count float64) []byte {
	const denominator = 1 << 56
	t := uint64(math.Round(denominator * (1 - 1/count)))
	text := strconv.FormatUint(denominator|min(t, denominator-1), 16)[1:] // 14 digits
	if text = strings.TrimRight(text, "0"); text == "" {
		text = "0"
	}
	return append(append(dst, "ot=th:"...), text...)
}
