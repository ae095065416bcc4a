package analyze

import (
	"math"
	"math/bits"
)

// A table of derived work begins with leastWorks places and grows until it holds maxWorks;
// then it begins anew.
const (
	leastWorks = 1 << 8
	maxWorks   = 1 << 13
)

// mix is 2^64 divided by the golden ratio.
const mix = 0x9e3779b97f4a7c15

// codeWorks is a hash table of derived work by the codes of columns. The zero value is
// ready to use.
type codeWorks struct {
	places []codeWork
	used   int
	era    uint32 // counts how often all was forgotten
}

// workCodes are the codes of a name and its input shapes, of an output shape and its element
// type, and of those of the inputs, two in one number.
type workCodes struct {
	inputs, output uint64
	dtypes         uint32
}

// codeWork is the work of rows with some codes.
type codeWork struct {
	codes workCodes
	era   uint32 // that it is of, plus one
	work  derivedWork
}

// find returns the work of rows with some codes, or a place for it and false. It is valid
// until the next call.
func (c *codeWorks) find(codes workCodes) (w *derivedWork, ok bool) {
	if 2*c.used >= len(c.places) {
		c.grow()
	}
	p := c.place(codes)
	if p.era == c.era+1 {
		return &p.work, true
	}
	*p = codeWork{codes: codes, era: c.era + 1}
	c.used++
	return &p.work, false
}

// place returns the place that has the codes, or is free for them.
func (c *codeWorks) place(codes workCodes) *codeWork {
	hash := bits.RotateLeft64(codes.inputs*mix, 23) ^ codes.output
	hash = (bits.RotateLeft64(hash*mix, 23) ^ uint64(codes.dtypes)) * mix
	mask := uint64(len(c.places) - 1)
	for at := hash >> 32 & mask; ; at = (at + 1) & mask {
		if p := &c.places[at]; p.era != c.era+1 || p.codes == codes {
			return p
		}
	}
}

// grow makes room for more, if need be by forgetting all.
func (c *codeWorks) grow() {
	size := max(leastWorks, 2*len(c.places))
	if size > 2*maxWorks {
		c.clear()
		return
	}
	old := c.places
	c.places = make([]codeWork, size)
	for i := range old {
		if old[i].era == c.era+1 {
			*c.place(old[i].codes) = old[i]
		}
	}
}

// clear makes the table empty.
func (c *codeWorks) clear() {
	c.used = 0
	if c.era++; c.era == math.MaxUint32 {
		c.era = 0
		clear(c.places)
	}
}
