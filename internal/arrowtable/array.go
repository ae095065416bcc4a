package arrowtable

import "github.com/optrace/optrace/internal/arrowipc"

// array collects the values of a column, a dictionary or a part of one.
type array struct {
	kind  arrowipc.Kind
	n     int
	nulls int
	valid bitmap // as far as the last null
	// Of these an array has what its type asks for. Numbers are integers, or the
	// bits of floating-point numbers.
	numbers  []int64
	bits     bitmap
	offsets  []int32 // where values end
	text     []byte
	children []*array
}

func newArray(f *arrowipc.Field) *array {
	a := &array{kind: f.Type.Kind}
	for i := range f.Children {
		a.children = append(a.children, newArray(&f.Children[i]))
	}
	return a
}

// reset makes the array empty.
func (a *array) reset() {
	a.n, a.nulls = 0, 0
	a.valid, a.bits = a.valid[:0], a.bits[:0]
	a.numbers, a.offsets, a.text = a.numbers[:0], a.offsets[:0], a.text[:0]
	for _, c := range a.children {
		c.reset()
	}
}

// size returns how many bytes the values take, roughly.
func (a *array) size() int {
	n := 8*len(a.numbers) + 4*len(a.offsets) + len(a.text) + len(a.bits)
	for _, c := range a.children {
		n += c.size()
	}
	return n
}

// null adds a value that is null.
func (a *array) null() {
	a.valid.clear(a.n)
	a.nulls++
	switch a.kind {
	case arrowipc.Int, arrowipc.Float:
		a.numbers = append(a.numbers, 0)
	case arrowipc.Utf8:
		a.offsets = append(a.offsets, int32(len(a.text)))
	case arrowipc.List, arrowipc.Map:
		a.offsets = append(a.offsets, int32(a.children[0].n))
	case arrowipc.Struct:
		for _, c := range a.children {
			c.null()
		}
	}
	a.n++
}

// fill makes the values up to, and without, the n-th null where there are none.
func (a *array) fill(n int) {
	for a.n < n {
		a.null()
	}
}

func (a *array) addNumber(v int64) {
	a.numbers = append(a.numbers, v)
	a.n++
}

func (a *array) addBool(v bool) {
	if v {
		a.bits.set(a.n)
	}
	a.n++
}

func (a *array) addText(s string) {
	a.text = append(a.text, s...)
	a.endText()
}

func (a *array) addHex(id []byte) {
	const digits = "0123456789abcdef"
	for _, octet := range id {
		a.text = append(a.text, digits[octet>>4], digits[octet&15])
	}
	a.endText()
}

func (a *array) endText() {
	a.offsets = append(a.offsets, int32(len(a.text)))
	a.n++
}

// endList ends a list of all elements that have joined the child since the last
// one.
func (a *array) endList() {
	a.offsets = append(a.offsets, int32(a.children[0].n))
	a.n++
}

// endGroup ends a value whose parts have joined the children; those that have not
// are null.
func (a *array) endGroup() {
	a.n++
	for _, c := range a.children {
		c.fill(a.n)
	}
}

// bitmap is a set of bits. Where the bits of null values are cleared those that
// are not there are set, else they are clear.
type bitmap []byte

func (b *bitmap) grow(i int, fill byte) {
	for len(*b) <= i/8 {
		*b = append(*b, fill)
	}
}

func (b *bitmap) set(i int) {
	b.grow(i, 0)
	(*b)[i/8] |= 1 << (i % 8)
}

func (b *bitmap) clear(i int) {
	b.grow(i, 0xff)
	(*b)[i/8] &^= 1 << (i % 8)
}
