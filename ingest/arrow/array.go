package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/optrace/optrace/internal/arrowipc"
)

// array is a column of a batch or a dictionary, or a part of one.
type array struct {
	field *arrowipc.Field
	n     int
	// valid holds a bit per value that is not null; nil where none is null.
	valid []byte
	nulls int64
	// data holds values of fixed size, bits, texts, views of texts or indexes into a
	// dictionary.
	data []byte
	// offsets tell where texts and lists are, in 32 or, where wide is set, in 64
	// bits; sizes how long lists are that may lie anywhere.
	offsets, sizes []byte
	wide           bool
	texts          [][]byte // what views refer to
	children       []array
	dictionary     *dictionary // nil for values
}

// isNull reports whether the i-th value is null itself, whatever its dictionary
// says.
func (a *array) isNull(i int) bool {
	return a.field.Type.Kind == arrowipc.Null || a.valid != nil && a.valid[i/8]>>(i%8)&1 == 0
}

// allNull reports whether there is nothing but nulls.
func (a *array) allNull() bool { return a.nulls >= int64(a.n) || a.field.Type.Kind == arrowipc.Null }

// at follows the i-th value into its dictionary: it returns an array of values and
// the place in it, and false for null.
func (a *array) at(i int) (*array, int, bool) {
	for range arrowipc.MaxDepth {
		if a.isNull(i) {
			return a, i, false
		}
		if a.dictionary == nil {
			return a, i, true
		}
		k := a.index(i)
		found := false
		for c := range a.dictionary.chunks {
			chunk := a.dictionary.chunks[c].values
			if k >= 0 && k < int64(chunk.n) {
				a, i, found = chunk, int(k), true
				break
			}
			k -= int64(chunk.n)
		}
		if !found {
			return a, i, false
		}
	}
	return a, i, false
}

// index returns the i-th index into a dictionary.
func (a *array) index(i int) int64 {
	n, _ := readInt(a.data, i, a.field.Dictionary.Index)
	return n
}

// shortIndex is index where most indexes have up to 32 bits. One whose highest bit
// is set becomes more than any dictionary has.
func (a *array) shortIndex(i int) uint64 {
	switch a.field.Dictionary.Index.Bits {
	case 8:
		return uint64(int8(a.data[i]))
	case 16:
		return uint64(int16(binary.LittleEndian.Uint16(a.data[2*i:])))
	case 32:
		return uint64(int32(binary.LittleEndian.Uint32(a.data[4*i:])))
	}
	return uint64(a.index(i))
}

// readInt returns an integer, and false for one that does not fit 64 bits.
func readInt(data []byte, i int, t arrowipc.Type) (int64, bool) {
	switch {
	case t.Bits == 64:
		n := int64(binary.LittleEndian.Uint64(data[8*i:]))
		return n, t.Signed || n >= 0
	case t.Bits == 32 && t.Signed:
		return int64(int32(binary.LittleEndian.Uint32(data[4*i:]))), true
	case t.Bits == 32:
		return int64(binary.LittleEndian.Uint32(data[4*i:])), true
	case t.Bits == 16 && t.Signed:
		return int64(int16(binary.LittleEndian.Uint16(data[2*i:]))), true
	case t.Bits == 16:
		return int64(binary.LittleEndian.Uint16(data[2*i:])), true
	case t.Signed:
		return int64(int8(data[i])), true
	}
	return int64(data[i]), true
}

// int returns an integer or a time, in whatever it counts.
func (a *array) int(i int) (n int64, ok bool) {
	t := a.field.Type
	switch t.Kind {
	case arrowipc.Timestamp, arrowipc.Duration, arrowipc.Date, arrowipc.Time:
		t.Signed = true
		return readInt(a.data, i, t)
	case arrowipc.Int:
		return readInt(a.data, i, t)
	case arrowipc.Bool:
		return int64(a.data[i/8] >> (i % 8) & 1), true
	}
	return 0, false
}

// float returns a floating-point number.
func (a *array) float(i int) (f float64, ok bool) {
	if a.field.Type.Kind != arrowipc.Float {
		return 0, false
	}
	switch a.field.Type.Bits {
	case 64:
		return math.Float64frombits(binary.LittleEndian.Uint64(a.data[8*i:])), true
	case 32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(a.data[4*i:]))), true
	}
	return half(binary.LittleEndian.Uint16(a.data[2*i:])), true
}

// half returns a number of 16 bits.
func half(bits uint16) float64 {
	const mantissaBits, exponentMask, bias = 10, 0x1f, 15
	mantissa, exponent := float64(bits&(1<<mantissaBits-1)), int(bits>>mantissaBits&exponentMask)
	f := 0.0
	switch exponent {
	case 0:
		f = math.Ldexp(mantissa, 1-bias-mantissaBits)
	case exponentMask:
		if f = math.Inf(1); mantissa != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(mantissa+1<<mantissaBits, exponent-bias-mantissaBits)
	}
	if bits>>15 != 0 {
		f = -f
	}
	return f
}

// isText reports whether values are text or bytes.
func (a *array) isText() bool {
	switch a.field.Type.Kind {
	case arrowipc.Utf8, arrowipc.LargeUtf8, arrowipc.Utf8View, arrowipc.Binary, arrowipc.LargeBinary, arrowipc.BinaryView,
		arrowipc.FixedSizeBinary:
		return true
	}
	return false
}

// bytes returns text or bytes, nil for values of another type.
func (a *array) bytes(i int) ([]byte, error) {
	switch a.field.Type.Kind {
	case arrowipc.FixedSizeBinary:
		size := a.field.Type.Size
		return a.data[i*size : (i+1)*size], nil
	case arrowipc.Utf8View, arrowipc.BinaryView:
		return a.view(i)
	}
	if !a.isText() {
		return nil, nil
	}
	start, end := a.offset(i), a.offset(i+1)
	if start < 0 || end < start || end > int64(len(a.data)) {
		return nil, errOffsets
	}
	if end-start > MaxTextBytes {
		return nil, fmt.Errorf("text of %d bytes; at most %d are read", end-start, MaxTextBytes)
	}
	return a.data[start:end], nil
}

var errOffsets = errors.New("offsets that are not within the values")

// offset returns the i-th offset.
func (a *array) offset(i int) int64 { return readOffset(a.offsets, i, a.wide) }

func readOffset(data []byte, i int, wide bool) int64 {
	if wide {
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
}

// view returns a text whose beginning or place stands in 16 bytes.
func (a *array) view(i int) ([]byte, error) {
	const viewBytes, inline = 16, 12
	v := a.data[viewBytes*i : viewBytes*(i+1)]
	n := int64(int32(binary.LittleEndian.Uint32(v)))
	switch {
	case n < 0 || n > MaxTextBytes:
		return nil, errOffsets
	case n <= inline:
		return v[4 : 4+n], nil
	}
	buffer, start := int64(int32(binary.LittleEndian.Uint32(v[8:]))), int64(int32(binary.LittleEndian.Uint32(v[12:])))
	if buffer < 0 || buffer >= int64(len(a.texts)) || start < 0 || start > int64(len(a.texts[buffer]))-n {
		return nil, errOffsets
	}
	return a.texts[buffer][start : start+n], nil
}

// isList reports whether values are lists.
func (a *array) isList() bool {
	switch a.field.Type.Kind {
	case arrowipc.List, arrowipc.LargeList, arrowipc.ListView, arrowipc.LargeListView, arrowipc.FixedSizeList, arrowipc.Map:
		return true
	}
	return false
}

// list returns where the elements of a list lie among those of the child.
func (a *array) list(i int) (child *array, start, end int, err error) {
	child = &a.children[0]
	var from, to int64
	switch {
	case a.field.Type.Kind == arrowipc.FixedSizeList:
		from, to = int64(i)*int64(a.field.Type.Size), int64(i+1)*int64(a.field.Type.Size)
	case a.sizes != nil:
		from = a.offset(i)
		to = from + readOffset(a.sizes, i, a.wide)
	default:
		from, to = a.offset(i), a.offset(i+1)
	}
	if from < 0 || to < from || to > int64(child.n) {
		return nil, 0, 0, errOffsets
	}
	if to-from > MaxListElements {
		return nil, 0, 0, fmt.Errorf("list of %d elements; at most %d are read", to-from, MaxListElements)
	}
	return child, int(from), int(to), nil
}

// child returns a part of a group, nil where it has none of the name.
func (a *array) child(name string) *array {
	for i := range a.children {
		if a.children[i].field.Name == name {
			return &a.children[i]
		}
	}
	return nil
}
