package arrow

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/optrace/optrace/internal/arrowipc"
)

// errWhole is the error for an array of which no slice can be read.
var errWhole = errors.New("to be read as a whole")

// canSlice reports whether a few values can be read without the others.
func (r *bodyReader) canSlice() bool {
	return r.body.src != nil && r.batch.Compression == arrowipc.Uncompressed
}

// slice is read for n values from the i-th on.
func (r *bodyReader) slice(f *arrowipc.Field, i, n int) (a array, err error) {
	if r.node >= len(r.batch.Nodes) {
		return a, errNodes
	}
	node := r.batch.Nodes[r.node]
	r.node++
	if i < 0 || n < 0 || int64(i) > node.Length-int64(n) {
		return a, errOffsets
	}
	a = array{field: f, n: n}
	if f.Dictionary != nil {
		a.dictionary = r.dictionaries.find(f.Dictionary.ID)
		return a, r.sliceFixed(&a, node, i, f.Dictionary.Index.Bits)
	}
	switch f.Type.Kind {
	case arrowipc.Int, arrowipc.Float, arrowipc.Timestamp, arrowipc.Duration, arrowipc.Date, arrowipc.Time:
		return a, r.sliceFixed(&a, node, i, f.Type.Bits)
	case arrowipc.Bool:
		return a, r.sliceFixed(&a, node, i, 1)
	case arrowipc.FixedSizeBinary:
		return a, r.sliceFixed(&a, node, i, 8*f.Type.Size)
	case arrowipc.Utf8, arrowipc.Binary, arrowipc.LargeUtf8, arrowipc.LargeBinary:
		a.wide = f.Type.Kind == arrowipc.LargeUtf8 || f.Type.Kind == arrowipc.LargeBinary
		start, end, err := r.sliceOffsets(&a, node, i)
		if err != nil {
			return a, err
		}
		a.data, err = r.sliceBuffer(start, end-start)
		return a, err
	case arrowipc.List, arrowipc.Map, arrowipc.LargeList:
		a.wide = f.Type.Kind == arrowipc.LargeList
		start, end, err := r.sliceOffsets(&a, node, i)
		if err != nil {
			return a, err
		}
		if end-start > MaxListElements {
			return a, errOffsets
		}
		return a, r.sliceChildren(&a, int(start), int(end-start))
	case arrowipc.Struct:
		if err := r.sliceValidity(&a, node, i); err != nil {
			return a, err
		}
		return a, r.sliceChildren(&a, i, n)
	}
	return a, errWhole
}

func (r *bodyReader) sliceChildren(a *array, i, n int) error {
	a.children = make([]array, len(a.field.Children))
	for k := range a.children {
		f := &a.field.Children[k]
		if f.Dictionary != nil { // which may not have been read
			return errWhole
		}
		child, err := r.slice(f, i, n)
		if err != nil {
			return err
		}
		a.children[k] = child
	}
	return nil
}

// sliceBuffer reads n bytes of the next buffer.
func (r *bodyReader) sliceBuffer(offset, n int64) ([]byte, error) {
	if r.buffer >= len(r.batch.Buffers) {
		return nil, errBuffers
	}
	at := r.batch.Buffers[r.buffer]
	r.buffer++
	if n == 0 {
		return nil, nil
	}
	if offset < 0 || n < 0 || offset > at.Length || n > at.Length-offset {
		return nil, errOffsets
	}
	at.Offset, at.Length = at.Offset+offset, n
	return r.bytes(at)
}

// sliceBits reads n bits of the next buffer from the i-th on.
func (r *bodyReader) sliceBits(i, n int) ([]byte, error) {
	data, err := r.sliceBuffer(int64(i/8), int64((i+n+7)/8-i/8))
	if err != nil || i%8 == 0 {
		return data, err
	}
	moved := make([]byte, (n+7)/8)
	for k := range moved {
		if moved[k] = data[k] >> (i % 8); k+1 < len(data) {
			moved[k] |= data[k+1] << (8 - i%8)
		}
	}
	return moved, nil
}

// sliceValidity reads which of the values from the i-th on are null.
func (r *bodyReader) sliceValidity(a *array, node arrowipc.Node, i int) (err error) {
	n := a.n
	switch {
	case r.present:
		n, r.present = 0, false
	case node.Nulls <= 0:
		n = 0
	case node.Nulls >= node.Length:
		a.nulls, n = int64(n), 0
	}
	a.valid, err = r.sliceBits(i, n)
	switch {
	case err != nil || a.nulls == 0 && n == 0:
		a.valid = nil
		return err
	case n == 0: // as long as there are values, whatever the message has
		a.valid = make([]byte, (a.n+7)/8)
		return nil
	}
	a.nulls = int64(a.n)
	for k, b := range a.valid {
		if rest := a.n - 8*k; rest < 8 {
			b &= 1<<rest - 1
		}
		a.nulls -= int64(bits.OnesCount8(b))
	}
	return nil
}

// sliceFixed reads values of a number of bits.
func (r *bodyReader) sliceFixed(a *array, node arrowipc.Node, i, size int) (err error) {
	if err = r.sliceValidity(a, node, i); err != nil {
		return err
	}
	if size == 1 {
		a.data, err = r.sliceBits(i, a.n)
	} else {
		a.data, err = r.sliceBuffer(int64(i)*int64(size/8), int64(a.n)*int64(size/8))
	}
	return err
}

// sliceOffsets reads the offsets of values, and returns those of their beginning and of
// their end, which becomes 0 in the array.
func (r *bodyReader) sliceOffsets(a *array, node arrowipc.Node, i int) (start, end int64, err error) {
	if err := r.sliceValidity(a, node, i); err != nil {
		return 0, 0, err
	}
	word := int64(4)
	if a.wide {
		word = 8
	}
	if a.offsets, err = r.sliceBuffer(int64(i)*word, int64(a.n+1)*word); err != nil {
		return 0, 0, err
	}
	start, end = a.offset(0), a.offset(a.n)
	if start < 0 || end < start || end-start > MaxTextBytes {
		return 0, 0, errOffsets
	}
	moved := make([]byte, len(a.offsets))
	for k := range a.n + 1 {
		if off := a.offset(k) - start; a.wide {
			binary.LittleEndian.PutUint64(moved[8*k:], uint64(off))
		} else {
			binary.LittleEndian.PutUint32(moved[4*k:], uint32(off))
		}
	}
	a.offsets = moved
	return start, end, nil
}

// Slices are read as long as they are few: fewSingles of a column, or of a large one as
// many as cost no more than reading all of it, which singleBytes tell. The values of a
// dictionary, which are read one by one, are taken apart as well.
const (
	fewSingles            = 16
	singleBytes           = 8 << 10
	singleDictionaryBytes = 16 << 10
)

// slice is some rows of a column that follow one another.
type slice struct {
	array array
	first int
}

// sliceAround returns rows of an active column, of which one is given, nil where the
// column is to be read as a whole. What is null is known of all columns.
func (r *reader) sliceAround(i, row int) *slice {
	s, known := &r.slices[i], &r.arrays[i]
	if s.array.n > 0 && s.first <= row && row < s.first+s.array.n {
		return s
	}
	if !r.readsSingly(i) {
		return nil
	}
	r.singles[i]++
	first := row &^ (chunkRows - 1)
	body := r.later[i]
	body.present = true
	a, err := body.slice(&r.table.schema.Fields[i], first, min(chunkRows, known.n-first))
	if err != nil {
		return nil
	}
	if known.valid != nil {
		a.valid = known.valid[first/8:]
	}
	*s = slice{a, first}
	return s
}

// readsSingly reports whether another slice of an active column is read.
func (r *reader) readsSingly(i int) bool {
	body := &r.later[i]
	if !body.canSlice() {
		return false
	}
	end := len(body.batch.Buffers)
	if i+1 < len(r.later) {
		end = r.later[i+1].buffer
	}
	if r.singles[i] < fewSingles {
		return true
	}
	size := int64(0)
	for _, b := range body.batch.Buffers[body.buffer:end] {
		size += b.Length
	}
	return int64(r.singles[i])*singleBytes < size
}

// value returns where the value of a row of an active column is, and false where it is
// null or cannot be read. It reads no more than that needs, unless it was called often.
func (r *reader) value(i, row int) (a *array, at int, ok bool) {
	f := &r.table.schema.Fields[i]
	if a = r.columns[i].values(); a == nil {
		if s := r.sliceAround(i, row); s != nil {
			a, row = &s.array, row-s.first
		}
	}
	if a == nil {
		if r.open(i) != nil {
			return nil, 0, false
		}
		a = r.columns[i].values()
	}
	switch {
	case a.isNull(row):
		return nil, 0, false
	case f.Dictionary != nil:
		return r.dictionaries.value(f, a.index(row))
	}
	if r.dictionaries.load(f, 0) != nil {
		return nil, 0, false
	}
	return a.at(row)
}

// value returns where the value of an index into the dictionary of a field is, and false
// where that is null or cannot be read.
func (d *dictionaries) value(f *arrowipc.Field, index int64) (a *array, at int, ok bool) {
	dict, k := d.byID[f.Dictionary.ID], index
	if k < 0 {
		return nil, 0, false
	}
	for i := range dict.chunks {
		c := &dict.chunks[i]
		n, known := c.len()
		if !known {
			break
		}
		if k >= n {
			k -= n
			continue
		}
		if c.values == nil && c.later.src != nil && int64(c.singles)*singleDictionaryBytes < c.later.length {
			c.singles++
			r := bodyReader{batch: c.batch, body: &c.later, dictionaries: d, unpack: d.unpack}
			if !r.canSlice() {
				break
			}
			if s, err := r.slice(d.fields[f.Dictionary.ID], int(k), 1); err == nil {
				return s.at(0)
			}
		}
		break
	}
	if d.load(f, 0) != nil {
		return nil, 0, false
	}
	if a, at = dict.at(index); a == nil {
		return nil, 0, false
	}
	return a.at(at)
}
