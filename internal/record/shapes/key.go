package shapes

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// A Key holds shapes as bytes: for each shape the number of its dimensions and the dimensions, eight bytes each. Equal Keys hold
// equal shapes. A nil Key holds none.
type Key []byte

// Append returns k with a shape added. It copies dims, and of more dimensions than [op.MaxRank] it keeps one more than that, so
// that readers see that there were too many.
func (k Key) Append(dims []int64) Key {
	dims = dims[:min(len(dims), op.MaxRank+1)]
	k = binary.LittleEndian.AppendUint64(k, uint64(len(dims)))
	for _, d := range dims {
		k = binary.LittleEndian.AppendUint64(k, uint64(d))
	}
	return k
}

// memory returns about how much memory an entry for k takes.
func (k Key) memory() int {
	const slot, entry, value = 8, 80, 48
	n := 0
	for rest := k; len(rest) > 0; n++ {
		rest = rest[8+8*binary.LittleEndian.Uint64(rest):]
	}
	return slot + entry + 2*len(k) + n*value
}

// shapes returns the shapes that k holds.
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
