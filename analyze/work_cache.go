package analyze

import "math/bits"

// A table of derived work begins with leastWorks places, of which at most half are taken,
// and grows until it holds maxWorks; then it begins anew.
const (
	leastWorks = 1 << 8
	maxWorks   = 1 << 13
)

// mix is 2^64 divided by the golden ratio.
const mix = 0x9e3779b97f4a7c15

// codeWorks is a table of derived work by the codes of columns. The zero value is ready to
// use.
type codeWorks struct {
	works []codeWork
	// places is a hash table: an index in works plus one, or 0 for a free place.
	places []int32
	// latest is what was found last for each code of input shapes, as in places: most often
	// what is found next.
	latest []int32
}

// workCodes are the codes of what the work of a row follows from.
type workCodes struct {
	operation, inputs, output, dtype, dtypes uint32
}

func (k *workCodes) hash() uint64 {
	h := bits.RotateLeft64((uint64(k.operation)|uint64(k.inputs)<<32)*mix, codeRotation)
	h = bits.RotateLeft64((h^uint64(k.output)^uint64(k.dtype)<<32)*mix, codeRotation)
	return (h ^ uint64(k.dtypes)) * mix
}

// codeWork is the work of rows with some codes.
type codeWork struct {
	codes workCodes
	work  derivedWork
}

// find returns the work of rows with some codes, or a place for it and false. It is valid
// until the next call.
func (c *codeWorks) find(codes workCodes) (w *derivedWork, ok bool) {
	if int(codes.inputs) < len(c.latest) {
		if n := c.latest[codes.inputs]; n > 0 && c.works[n-1].codes == codes {
			return &c.works[n-1].work, true
		}
	}
	return c.search(codes)
}

// search is find by the hash table.
func (c *codeWorks) search(codes workCodes) (w *derivedWork, ok bool) {
	if 2*len(c.works) >= len(c.places) {
		c.grow()
	}
	p := c.place(&codes)
	if ok = *p > 0; !ok {
		c.works = append(c.works, codeWork{codes: codes})
		*p = int32(len(c.works))
	}
	if n := int(codes.inputs) + 1; n > len(c.latest) {
		c.latest = append(c.latest, make([]int32, n-len(c.latest))...)
	}
	c.latest[codes.inputs] = *p
	return &c.works[*p-1].work, ok
}

// place returns the place of the codes in the hash table.
func (c *codeWorks) place(codes *workCodes) *int32 {
	mask := uint64(len(c.places) - 1)
	for at := codes.hash() >> 32 & mask; ; at = (at + 1) & mask {
		if p := &c.places[at]; *p == 0 || c.works[*p-1].codes == *codes {
			return p
		}
	}
}

// grow makes room for more, if need be by forgetting all.
func (c *codeWorks) grow() {
	if len(c.works) >= maxWorks {
		c.clear()
		return
	}
	c.places = make([]int32, max(leastWorks, 2*len(c.places)))
	for i := range c.works {
		*c.place(&c.works[i].codes) = int32(i + 1)
	}
}

// clear makes the table empty.
func (c *codeWorks) clear() {
	for i := range c.works { // latest may be much longer
		c.latest[c.works[i].codes.inputs] = 0
	}
	c.works = c.works[:0]
	clear(c.places)
}
