package op

import (
	"strconv"
	"strings"
)

// adjustedCount returns how many spans a span sampled with the threshold in a
// W3C tracestate stands for: 2^56 / (2^56 - T) for "ot=th:T", T being up to 14
// hexadecimal digits filled up with zeros on the right. It returns 0, which
// means unknown, where there is no valid threshold: none is not the same as 1.
//
//	ot=th:8          2
//	ot=rv:1a;th:c    4
//	ot=th:0          1
//	ot=th:           0
//	x=1              0
func adjustedCount(state string) float64 {
	if state == "" {
		return 0
	}
	for member := range strings.SplitSeq(state, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(member), "ot=")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(value, ";") {
			if th, ok := strings.CutPrefix(part, "th:"); ok {
				return thresholdCount(th)
			}
		}
	}
	return 0
}

func thresholdCount(th string) float64 {
	const digits, denominator = 14, uint64(1) << 56
	if len(th) > digits {
		return 0
	}
	t, err := strconv.ParseUint(th, 16, 64)
	if err != nil {
		return 0
	}
	t <<= 4 * (digits - len(th))
	return float64(denominator) / float64(denominator-t)
}
