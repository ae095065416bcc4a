package arrowtable

import "github.com/optrace/optrace/internal/arrowipc"

// dimensions holds the dimensions of shapes, each of them once. The zero value is not
// usable.
type dimensions struct {
	values  *array
	indexes map[int64]int32
	// recent holds an index that a dimension of the same hash had, which it probably has
	// still.
	recent [1 << recentBits]int32
	bytes  *int // what values take, roughly, joins that
}

const recentBits = 8

func newDimensions(bytes *int) *dimensions {
	return &dimensions{values: &array{kind: arrowipc.Int}, indexes: make(map[int64]int32), bytes: bytes}
}

func (d *dimensions) reset() {
	d.values.reset()
	clear(d.indexes)
}

// index returns the index of a dimension.
func (d *dimensions) index(v int64) int64 {
	const spread = 0x9e3779b97f4a7c15 // the golden ratio's fraction
	at := &d.recent[uint64(v)*spread>>(64-recentBits)]
	if i := int(*at); i < d.values.n && d.values.numbers[i] == v {
		return int64(i)
	}
	i, ok := d.indexes[v]
	if !ok {
		i = int32(d.values.n)
		d.values.addNumber(v)
		d.indexes[v] = i
		*d.bytes += valueOverhead
	}
	*at = i
	return int64(i)
}
