package analyze

import "math"

// maxDistinct is up to which number distinct values are counted exactly.
const maxDistinct = 1 << 16

// distinct counts different hashes. It keeps the smallest maxDistinct of them:
// beyond that, how densely they lie tells how many there are, with a standard
// error of 0.4 %. The result does not depend on the order of the hashes. The
// zero value is ready to use.
type distinct struct {
	kept     map[uint64]struct{}
	largest  heap[uint64]
	overflow bool
}

// add adds a hash. The hashes need not be spread over all numbers.
func (d *distinct) add(h uint64) { d.addSpread(spread(h)) }

func (d *distinct) addSpread(h uint64) {
	if d.overflow && h > d.largest.top() {
		return
	}
	if _, ok := d.kept[h]; ok {
		return
	}
	if d.kept == nil {
		d.kept = make(map[uint64]struct{})
		d.largest.less = func(a, b uint64) bool { return a < b }
	}
	if len(d.kept) < maxDistinct {
		d.kept[h] = struct{}{}
		d.largest.push(h)
		return
	}
	d.overflow = true
	if top := d.largest.top(); h < top {
		delete(d.kept, top)
		d.kept[h] = struct{}{}
		d.largest.replaceTop(h)
	}
}

func (d *distinct) merge(o *distinct) {
	for _, h := range o.largest.items {
		d.addSpread(h)
	}
	d.overflow = d.overflow || o.overflow
}

func (d *distinct) count() int64 {
	if !d.overflow {
		return int64(len(d.kept))
	}
	return int64((maxDistinct - 1) / (float64(d.largest.top()) / math.MaxUint64))
}

// spread maps numbers one to one to numbers that look random, by the last
// steps of SplitMix64.
func spread(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
