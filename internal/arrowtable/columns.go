package arrowtable

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
)

// Writer writes tables. It is used by one goroutine at a time.
type Writer struct {
	body    body
	layouts *layouts
	// Scratch: the combinations of the rows, the flags that all of them have, and the
	// indexes of a column.
	combinations []uint16
	flags        uint16
	indexes      []int16
}

// NewWriter returns a writer of batches whose buffers c compresses, nil for none.
func NewWriter(c Compressor) *Writer {
	return &Writer{body: body{compressor: c}, layouts: newLayouts(c)}
}

// Append appends the batch of rows, all of which were made with t: its
// dictionaries, then the record batch. Dictionaries without values are left out
// unless all is set: a stream must have had each of them before the first batch.
func (w *Writer) Append(dst []byte, t *Table, rows []byte, all bool) []byte {
	b := &w.body
	b.out = dst
	if t.dims.values.n > 0 || all { // in front of those that refer to it
		b.dictionary(w.layouts.dims, t.dims.values)
	}
	for id, d := range t.dicts {
		if d != nil && (d.values.n > 0 || all) {
			b.dictionary(w.layouts.dictionaries[id], d.values)
		}
	}
	w.combinations, w.flags = resized(w.combinations, len(rows)/RowBytes), math.MaxUint16
	for i := range w.combinations {
		row := (*[RowBytes]byte)(rows[i*RowBytes:])
		w.combinations[i] = binary.LittleEndian.Uint16(row[rowCombination:])
		w.flags &= binary.LittleEndian.Uint16(row[rowFlags:])
	}
	b.begin(w.layouts.records)
	for col := range numColumns {
		w.column(t, col, rows)
	}
	b.finish(len(rows) / RowBytes)
	dst, b.out = b.out, nil
	return dst
}

// dictionary adds the message of a dictionary.
func (b *body) dictionary(l *arrowipc.Layout, values *array) {
	b.begin(l)
	b.array(values)
	b.finish(values.n)
}

// column adds a column of rows.
func (w *Writer) column(t *Table, col int, rows []byte) {
	n := len(rows) / RowBytes
	switch col {
	case colStart:
		w.body.times(rows, rowStart, hasStart&^w.flags)
	case colDuration:
		w.body.times(rows, rowDuration, hasDuration&^w.flags)
	case colLaunch:
		w.body.launches(t.launches, n)
	case colSpanID:
		w.body.spanIDs(rows, hasSpanID&^w.flags)
	case colFailed, colParentRemote:
		if t.combinations.areZero(col) {
			w.body.zeroColumn(n, 1)
			return
		}
		w.body.bools(w.combined(t, col))
	case colStep:
		w.body.indexes(w.own(rowStep, rows))
	case colDeviceID:
		w.body.indexes(w.own(rowDevice, rows))
	case colTraceID:
		w.body.indexes(w.own(rowTrace, rows))
	case colParentSpanID:
		w.body.indexes(w.own(rowParent, rows))
	case colRoot:
		w.body.indexes(w.own(rowRoot, rows))
	case colRootSpanID:
		w.body.indexes(w.own(rowRootID, rows))
	default:
		switch bits := indexBits(col); {
		case t.dicts[col].values.n == 0:
			w.body.allNull(n, bits)
		case t.combinations.areZero(col):
			w.body.zeroColumn(n, bits)
		case bits == byteIndex.Bits:
			w.body.byteIndexes(w.combined(t, col))
		default:
			w.body.indexes(w.combined(t, col))
		}
	}
}

// own returns the indexes that rows hold at a place. signs is negative if one of
// them is null.
func (w *Writer) own(at int, rows []byte) (indexes []int16, signs int16) {
	w.indexes = resized(w.indexes, len(rows)/RowBytes)
	for i := range w.indexes {
		index := int16(binary.LittleEndian.Uint16(rows[i*RowBytes+at:]))
		w.indexes[i] = index
		signs |= index
	}
	return w.indexes, signs
}

// combined is own for what the rows' combinations hold of a column.
func (w *Writer) combined(t *Table, col int) (indexes []int16, signs int16) {
	codes := t.combinations.column(col)
	w.indexes = resized(w.indexes, len(w.combinations))
	for i, at := range w.combinations {
		index := codes[at]
		w.indexes[i] = index
		signs |= index
	}
	return w.indexes, signs
}

// resized returns a slice of n elements, in the memory of s if that is large enough.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// allNull adds a column of n nulls, whose values take that many bits.
func (b *body) allNull(n, bits int) {
	b.node(n, n)
	b.allZero((n + 7) / 8)
	b.allZero((bits*n + 7) / 8)
}

// zeroColumn adds a column of n zeros, of that many bits.
func (b *body) zeroColumn(n, bits int) {
	b.node(n, 0)
	b.none()
	b.allZero((bits*n + 7) / 8)
}

// indexes adds a column of indexes.
func (b *body) indexes(indexes []int16, signs int16) {
	n := len(indexes)
	b.node(n, b.present(indexes, signs))
	buf, start := b.grow(2 * n)
	fill(indexes, signs)
	for i, index := range indexes {
		binary.LittleEndian.PutUint16(buf[2*i:], uint16(index))
	}
	b.end(start)
}

// byteIndexes is indexes for those that take a byte.
func (b *body) byteIndexes(indexes []int16, signs int16) {
	n := len(indexes)
	b.node(n, b.present(indexes, signs))
	buf, start := b.grow(n)
	fill(indexes, signs)
	for i, index := range indexes {
		buf[i] = byte(index)
	}
	b.end(start)
}

// fill puts the index before in place of nulls, where it does not matter what stands:
// a column of few values then has long runs.
func fill(indexes []int16, signs int16) {
	if signs >= 0 {
		return
	}
	last := int16(0)
	for i, index := range indexes {
		if index >= 0 {
			last = index
		}
		indexes[i] = last
	}
}

// present adds the bits of the indexes that are not null, none where all are not,
// and returns how many are.
func (b *body) present(indexes []int16, signs int16) (nulls int) {
	if signs >= 0 {
		b.none()
		return 0
	}
	bits, start := b.grow((len(indexes) + 7) / 8)
	clear(bits)
	for i, index := range indexes {
		if index >= 0 {
			bits[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	b.end(start)
	return nulls
}

// bools adds a column of booleans: 0 and 1.
func (b *body) bools(values []int16, signs int16) {
	b.node(len(values), b.present(values, signs))
	bits, start := b.grow((len(values) + 7) / 8)
	clear(bits)
	for i, v := range values {
		if v > 0 {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	b.end(start)
}

// flagged adds the bits of the rows that have a flag, none where flag is 0 because all
// have, and returns how many have not.
func (b *body) flagged(rows []byte, flag uint16) (nulls int) {
	if flag == 0 {
		b.none()
		return 0
	}
	n := len(rows) / RowBytes
	bits, start := b.grow((n + 7) / 8)
	clear(bits)
	for i := range n {
		if binary.LittleEndian.Uint16(rows[i*RowBytes+rowFlags:])&flag != 0 {
			bits[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	b.end(start)
	return nulls
}

// times adds a column of the integers that rows hold at a place, null without the
// flag.
func (b *body) times(rows []byte, at int, flag uint16) {
	n := len(rows) / RowBytes
	b.node(n, b.flagged(rows, flag))
	buf, start := b.grow(8 * n)
	for i := range n {
		copy(buf[8*i:8*i+8], rows[i*RowBytes+at:])
	}
	b.end(start)
}

// spanIDs adds the column of span ids.
func (b *body) spanIDs(rows []byte, flag uint16) {
	n := len(rows) / RowBytes
	b.node(n, b.flagged(rows, flag))
	buf, start := b.grow(8 * n)
	for i := range n {
		binary.LittleEndian.PutUint64(buf[8*i:], uint64(spanNumber(rows[i*RowBytes+rowSpanID:])))
	}
	b.end(start)
}

// launches adds the column of launch times, of n rows.
func (b *body) launches(launches []launch, n int) {
	if len(launches) == 0 {
		b.node(n, n)
		b.allZero((n + 7) / 8)
		b.anything(8 * n)
		return
	}
	b.node(n, n-len(launches))
	bits, start := b.grow((n + 7) / 8)
	clear(bits)
	for _, l := range launches {
		bits[l.row/8] |= 1 << (l.row % 8)
	}
	b.end(start)
	times, start := b.grow(8 * n)
	clear(times)
	for _, l := range launches {
		binary.LittleEndian.PutUint64(times[8*l.row:], uint64(l.ns))
	}
	b.end(start)
}
