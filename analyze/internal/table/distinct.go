package table

import (
	"math"

	"github.com/optrace/optrace/analyze/internal/heap"
)

// maxDistinct is the largest exact count of distinct hashes.
const maxDistinct = 1 << 16

// distinct counts distinct hashes. It keeps the smallest maxDistinct and then estimates the count from their density.
// The result does not depend on the order. The zero value is ready to use.
type distinct struct {
	kept     map[uint64]struct{}
	largest  heap.Heap[uint64]
	overflow bool
}

// add adds a hash, which may be unevenly distributed.
func (d *distinct) add(h uint64) { d.addSpread(spread(h)) }

func (d *distinct) addSpread(h uint64) {
	if d.overflow && h > d.largest.Top() {
		return
	}
	if _, ok := d.kept[h]; ok {
		return
	}
	if d.kept == nil {
		d.kept = make(map[uint64]struct{})
		d.largest.Less = func(a, b uint64) bool { return a < b }
	}
	if len(d.kept) < maxDistinct {
		d.kept[h] = struct{}{}
		d.largest.Push(h)
		return
	}
	d.overflow = true
	if top := d.largest.Top(); h < top {
		delete(d.kept, top)
		d.kept[h] = struct{}{}
		d.largest.ReplaceTop(h)
	}
}

func (d *distinct) merge(o *distinct) {
	for _, h := range o.largest.Items {
		d.addSpread(h)
	}
	d.overflow = d.overflow || o.overflow
}

func (d *distinct) count() int64 {
	if !d.overflow {
		return int64(len(d.kept))
	}
	return int64((maxDistinct - 1) / (float64(d.largest.Top()) / math.MaxUint64))
}

// spread maps numbers one to one to evenly distributed numbers, by the last steps of SplitMix64.
func spread(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
