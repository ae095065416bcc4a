package shapes

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// A Key holds shapes as bytes: per shape the number of dimensions and the dimensions, eight bytes each.
type Key []byte

// Append returns k with a copy of dims added. An excess over [op.MaxRank] stays visible as one extra dimension.
func (k Key) Append(dims []int64) Key {
	dims = dims[:min(len(dims), op.MaxRank+1)]
	k = binary.LittleEndian.AppendUint64(k, uint64(len(dims)))
	for _, d := range dims {
		k = binary.LittleEndian.AppendUint64(k, uint64(d))
	}
	return k
}

func (k Key) memory() int {
	const slot, entry, value = 8, 80, 48 // bytes
	n := 0
	for rest := k; len(rest) > 0; n++ {
		rest = rest[8+8*binary.LittleEndian.Uint64(rest):]
	}
	return slot + entry + 2*len(k) + n*value
}

func (k Key) shapes() [][]int64 {
	var all [][]int64
	for len(k) > 0 {
		dims := make([]int64, binary.LittleEndian.Uint64(k))
		k = k[8:]
		for i := range dims {
			dims[i] = int64(binary.LittleEndian.Uint64(k))
			k = k[8:]
		}
		all = append(all, dims)
	}
	return all
}
