package arrowtable

import (
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/jsontext"
)

// array collects the values of a column, a dictionary or a part of one.
type array struct {
	kind  arrowipc.Kind
	n     int
	nulls int
	valid bitmap // as far as the last null
	// Of these an array has what its type asks for. Numbers are integers, or the
	// bits of floating-point numbers.
	numbers  []int64
	dims     *dimensions // if not nil, numbers are indexes into these
	offsets  []int32     // where values end
	text     []byte
	children []*array
}

// newArray returns an empty array of the values of a field. Those of a part that has a
// dictionary are in dims.
func newArray(f *arrowipc.Field, dims *dimensions) *array {
	a := &array{kind: f.Type.Kind}
	for i := range f.Children {
		child := newArray(&f.Children[i], dims)
		if f.Children[i].Dictionary != nil {
			child.dims = dims
		}
		a.children = append(a.children, child)
	}
	return a
}

// reset makes the array empty.
func (a *array) reset() {
	a.n, a.nulls = 0, 0
	a.valid = a.valid[:0]
	a.numbers, a.offsets, a.text = a.numbers[:0], a.offsets[:0], a.text[:0]
	for _, c := range a.children {
		c.reset()
	}
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

func (a *array) addText(s string) {
	a.text = append(a.text, s...)
	a.endText()
}

func (a *array) addHex(id []byte) {
	a.text = jsontext.AppendHex(a.text, id)
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

// addFrom adds the value that another array of the type has at an index.
func (a *array) addFrom(src *array, i int) {
	if src.isNull(i) {
		a.null()
		return
	}
	switch a.kind {
	case arrowipc.Int, arrowipc.Float:
		a.addNumbers(src, i, i+1)
	case arrowipc.Utf8:
		start, end := src.bounds(i)
		a.text = append(a.text, src.text[start:end]...)
		a.endText()
	case arrowipc.List, arrowipc.Map:
		start, end := src.bounds(i)
		to, from := a.children[0], src.children[0]
		if to.kind == arrowipc.Int && from.nulls == 0 {
			to.addNumbers(from, start, end)
		} else {
			for k := start; k < end; k++ {
				to.addFrom(from, k)
			}
		}
		a.endList()
	case arrowipc.Struct:
		for k, c := range a.children {
			c.addFrom(src.children[k], i)
		}
		a.n++
	}
}

// addNumbers adds the numbers that another array has from one index up to another. None
// of them is null.
func (a *array) addNumbers(src *array, start, end int) {
	a.n += end - start
	if a.dims == nil {
		a.numbers = append(a.numbers, src.numbers[start:end]...)
		return
	}
	for _, v := range src.numbers[start:end] {
		a.numbers = append(a.numbers, a.dims.index(src.dims.values.numbers[v]))
	}
}

func (a *array) isNull(i int) bool { return a.nulls > 0 && !a.valid.has(i) }

// bounds returns where the text or the list at an index begins and ends.
func (a *array) bounds(i int) (start, end int) {
	if i > 0 {
		start = int(a.offsets[i-1])
	}
	return start, int(a.offsets[i])
}

// bitmap has a bit for each value that is not null. Those that are not there are
// set.
type bitmap []byte

// has reports whether a value is not null.
func (b bitmap) has(i int) bool { return i/8 >= len(b) || b[i/8]&(1<<(i%8)) != 0 }

func (b *bitmap) clear(i int) {
	for len(*b) <= i/8 {
		*b = append(*b, 0xff)
	}
	(*b)[i/8] &^= 1 << (i % 8)
}
