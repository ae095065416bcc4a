package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseBytes reads a number of bytes with an optional unit: 4096, 64K, 1.5M, 2GiB. Units are powers of 1024.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	size := int64(1)
	if i := len(number) - 1; i >= 0 {
		if power := strings.IndexByte("KMGT", number[i]); power >= 0 {
			number = number[:i]
			size = 1 << (10 * (power + 1))
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0) || n*float64(size) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a number of bytes such as 64M or 1.5G", text)
	}
	return int64(n * float64(size)), nil
}
