package opmodel

import (
	"strings"

	"github.com/optrace/optrace/op"
)

// CannotMultiply reports whether an operation with this name multiplies two matrices, or two batches of them, and
// its inputs cannot be multiplied: neither as they are, nor transposed, nor where the second one packs several
// elements into one. Names and numbers of inputs that may mean something else are never reported.
func CannotMultiply(name string, inputs []op.Shape) bool {
	rank := 2
	switch strings.TrimPrefix(name, "aten::") {
	case "matmul", "mm", "gemm", "linear", "dense", "MatMul":
	case "bmm", "batch_matmul", "batched_matmul":
		rank = 3
	default:
		return false
	}
	if len(inputs) != 2 || len(inputs[0]) != rank || len(inputs[1]) != rank {
		return false
	}
	a, b := inputs[0][rank-2:], inputs[1][rank-2:]
	for i, m := range a {
		for _, n := range b {
			if m < 0 || n < 0 || m == n || i == 1 && isPacked(m, n) {
				return false
			}
		}
	}
	return true
}

// isPacked reports whether n words may hold m elements.
func isPacked(m, n int64) bool {
	const most = 32 // elements of one bit in a word
	if n == 0 || m%n != 0 {
		return false
	}
	each := m / n
	return each <= most && each&(each-1) == 0
}

// Year2000 is the start of the year 2000 in Unix nanoseconds. An earlier time is a mistake, or no Unix time.
const Year2000 = 946_684_800 * 1_000_000_000

// TimeUnit returns the unit in which n, which is earlier than Year2000 in nanoseconds, is a Unix time of this
// century: "seconds", "milliseconds", "microseconds", or "" for none of them.
func TimeUnit(n int64) string {
	const first, last = 946_684_800, 4_102_444_800
	for _, unit := range []struct {
		name      string
		perSecond int64
	}{{"seconds", 1}, {"milliseconds", 1_000}, {"microseconds", 1_000_000}} {
		if n >= first*unit.perSecond && n < last*unit.perSecond {
			return unit.name
		}
	}
	return ""
}
