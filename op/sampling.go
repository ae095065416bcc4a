package op

import (
	"math"
	"strconv"
	"strings"
)

// adjustedCount returns how many spans a span sampled with the threshold in a
// W3C tracestate stands for: 2^56 / (2^56 - T) for "ot=th:T", T being up to 14
// hexadecimal digits filled up with zeros on the right. It returns 0, which
// means unknown, where there is no valid threshold: none is not the same as 1.
func adjustedCount(state string) float64 {
	if state == "" {
		return 0
	}
	const digits, denominator = 14, 1 << 56
	for member := range strings.SplitSeq(state, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(member), "ot=")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(value, ";") {
			th, ok := strings.CutPrefix(part, "th:")
			if !ok {
				continue
			}
			if th == "" || len(th) > digits {
				return 0
			}
			t, err := strconv.ParseUint(th+strings.Repeat("0", digits-len(th)), 16, 64)
			if err != nil {
				return 0
			}
			return denominator / math.Max(1, denominator-float64(t))
		}
	}
	return 0
}
