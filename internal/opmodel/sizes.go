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

// DerivedMemory returns elements × element size, and a warning where that is not known for its size.
func DerivedMemory(e *op.Entry) (op.Int, op.Warning) {
	size := int64(op.DefaultElementSize)
	if e.DType != "" {
		if s := e.DType.Size(); s > 0 {
			size = s
		}
	}
	return mulBytes(e.OutputElements, size)
}

// mulBytes returns elements × size, unknown with a warning where that does not fit.
func mulBytes(elements op.Int, size int64) (op.Int, op.Warning) {
	if !elements.Known {
		return op.Int{}, 0
	}
	hi, lo := bits.Mul64(uint64(elements.V), uint64(size))
	if hi != 0 || lo > math.MaxInt64 {
		return op.Int{}, op.WarnOverflow
	}
	return op.Known(int64(lo)), 0
}
