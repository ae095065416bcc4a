package opfile

import "github.com/optrace/optrace/op"

// UnixTime returns base + t in Unix nanoseconds, unknown on overflow.
func UnixTime(base, t int64) op.Int {
	sum := base + t
	if t > 0 && sum < base || t < 0 && sum > base {
		return op.Int{}
	}
	return op.Known(sum)
}
