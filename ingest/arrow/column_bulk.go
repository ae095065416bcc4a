package arrow

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// nanoInts adds integers of 64 bits that are nanoseconds.
func nanoInts(meanings []op.Int, a *array, first, n int) ([]op.Int, bool) {
	t := a.field.Type
	isTime := t.Kind == arrowipc.Int && t.Signed || t.Kind == arrowipc.Timestamp || t.Kind == arrowipc.Duration
	if !isTime || t.Bits != 64 || t.Unit > 1 {
		return nil, false
	}
	return appendInts(meanings, a.data[8*first:][:8*n]), true
}

// appendInts appends integers of 64 bits.
func appendInts(dst []op.Int, data []byte) []op.Int {
	before, n := len(dst), len(data)/8
	dst = slices.Grow(dst, n)[:before+n]
	added := dst[before:]
	for i := range added {
		added[i] = op.Int{V: int64(binary.LittleEndian.Uint64(data[8*i : 8*i+8])), Known: true}
	}
	return dst
}

// allFalse reports whether n booleans are false.
func allFalse(a *array, first, n int) bool {
	if a.field.Type.Kind != arrowipc.Bool {
		return false
	}
	data := a.data[first/8 : (first+n+7)/8] // first is a multiple of 8
	for _, b := range data[:n/8] {
		if b != 0 {
			return false
		}
	}
	return n%8 == 0 || data[n/8]<<(8-n%8) == 0
}

// booleans adds booleans.
func booleans(meanings []bool, a *array, first, n int) ([]bool, bool) {
	if a.field.Type.Kind != arrowipc.Bool {
		return nil, false
	}
	for i := first; i < first+n; i++ {
		meanings = append(meanings, a.data[i/8]>>(i%8)&1 != 0)
	}
	return meanings, true
}

// spanIDs adds ids that are numbers or in hexadecimal.
func spanIDs(meanings []op.SpanID, a *array, first, n int) ([]op.SpanID, bool) {
	if a.isSpanNumber() {
		for i := first; i < first+n; i++ {
			id := spanIDOf(a.data, i)
			if id.IsZero() {
				return nil, false
			}
			meanings = append(meanings, id)
		}
		return meanings, true
	}
	if a.field.Type.Kind != arrowipc.Utf8 {
		return nil, false
	}
	for i := first; i < first+n; i++ {
		b, err := a.bytes(i)
		if err != nil {
			return nil, false
		}
		id, ok := op.ParseSpanID(b)
		if !ok || id.IsZero() {
			return nil, false
		}
		meanings = append(meanings, id)
	}
	return meanings, true
}

// amounts adds integers of 64 bits of which none is less than least.
func amounts(least int64) func(meanings []op.Int, a *array, first, n int) ([]op.Int, bool) {
	return func(meanings []op.Int, a *array, first, n int) ([]op.Int, bool) {
		if t := a.field.Type; t.Kind != arrowipc.Int || !t.Signed || t.Bits != 64 {
			return nil, false
		}
		before := len(meanings)
		meanings = appendInts(meanings, a.data[8*first:][:8*n])
		for i := range meanings[before:] {
			if meanings[before+i].V < least {
				return nil, false
			}
		}
		return meanings, true
	}
}
