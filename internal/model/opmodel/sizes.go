package opmodel

import (
	"math"
	"math/bits"

	"github.com/optrace/optrace/op"
)

// SetDerivedMemory sets MemoryBytes to elements × element size.
func SetDerivedMemory(e *op.Entry) {
	n, w := DerivedMemory(e)
	e.MemoryBytes = n
	e.Warn |= w
}

// DerivedMemory returns elements × element size, unknown with a warning on overflow.
func DerivedMemory(e *op.Entry) (op.Int, op.Warning) {
	if !e.OutputElements.Known {
		return op.Int{}, 0
	}
	size := e.DType.Size()
	if size == 0 {
		size = op.DefaultElementSize
	}
	hi, lo := bits.Mul64(uint64(e.OutputElements.V), uint64(size))
	if hi != 0 || lo > math.MaxInt64 {
		return op.Int{}, op.WarnOverflow
	}
	return op.Known(int64(lo)), 0
}

// AddSaturating returns a + b, or the nearest int64 on overflow.
func AddSaturating(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}
