package opmodel

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// CannotMultiply reports whether an operation of this name multiplies two matrices, or two batches of them, and its
// inputs cannot be multiplied: neither directly, nor transposed, nor with several elements packed into one of the
// second. It reports no ambiguous names or numbers of inputs.
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
	a := inputs[0][rank-2:]
	b := inputs[1][rank-2:]
	for i, m := range a {
		for _, n := range b {
			if m < 0 || n < 0 || m == n || i == 1 && mayHold(n, m) {
				return false
			}
		}
	}
	return true
}

// mayHold reports whether a dimension of n may hold m elements in another form: several in a word of 32 bits,
// quantized blocks of 32 or 256 elements in bytes, or padded rows.
func mayHold(n, m int64) bool {
	const (
		word   = 32
		padded = 32 // shorter rows are not padded
	)
	if n == 0 {
		return false
	}
	for _, bits := range []int64{1, 2, 3, 4, 5, 6, 8, 16} {
		if n <= m/2 && n*word == m*bits {
			return true
		}
	}
	for elements, sizes := range blocks {
		if all := m / elements; all > 0 && m%elements == 0 && n%all == 0 && slices.Contains(sizes, n/all) {
			return true
		}
	}
	return m >= padded && n > m && n%8 == 0 && n-m < 64
}

// blocks are the sizes in bytes of the quantized blocks of llama.cpp (ggml-common.h), by their elements.
var blocks = map[int64][]int64{
	32:  {17, 18, 20, 22, 24, 34, 36},
	256: {50, 54, 56, 66, 74, 82, 84, 98, 110, 136, 144, 176, 210, 292},
}

// Year2000 is the start of the year 2000 in Unix nanoseconds. An earlier time is a mistake, or no Unix time.
const Year2000 = 946_684_800 * 1_000_000_000

// TimeUnit returns the unit of n, "seconds", "milliseconds" or "microseconds", if n is a Unix time of this century in
// it, else "". In nanoseconds n is earlier than Year2000.
func TimeUnit(n int64) string {
	const first, last = Year2000 / 1_000_000_000, 4_102_444_800
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
