package analyze

import (
	"math/bits"
	"math/rand/v2"
)

// spanIndex finds the row of a span within one trace: a hash table with open
// addressing that holds row numbers alone, four bytes a slot. It is emptied
// and used again for each trace, so that it stays in the cache for all but the
// largest ones.
type spanIndex struct {
	columns *columns
	slots   []int32 // row + 1; 0 is free
	mask    uint64
	seed    uint64 // keeps made-up ids from colliding by design
}

func newSpanIndex(c *columns) *spanIndex {
	return &spanIndex{columns: c, seed: rand.Uint64()}
}

// reset empties the index and makes room for n rows.
func (x *spanIndex) reset(n int) {
	size := 1 << bits.Len(uint(n+n/3)) // at most three quarters full
	if size > cap(x.slots) {
		x.slots = make([]int32, size)
	} else {
		x.slots = x.slots[:size]
		clear(x.slots)
	}
	x.mask = uint64(size - 1)
}

// slot returns where id is, or where it belongs.
func (x *spanIndex) slot(id uint64) *int32 {
	hi, lo := bits.Mul64(id^x.seed, 0x9e3779b97f4a7c15)
	for i := hi ^ lo; ; i++ {
		s := &x.slots[i&x.mask]
		if *s == 0 || x.columns.span(*s-1) == id {
			return s
		}
	}
}

// insert adds row r. When its id is there already it returns the row that has
// it, and adds nothing.
func (x *spanIndex) insert(r int32) (first int32, found bool) {
	s := x.slot(x.columns.span(r))
	if *s != 0 {
		return *s - 1, true
	}
	*s = r + 1
	return r, false
}

// find returns the row with the id, or noRow.
func (x *spanIndex) find(id uint64) int32 { return *x.slot(id) - 1 }
