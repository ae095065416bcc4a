package arrowtable

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
)

// Compressor compresses buffers.
type Compressor interface {
	// Codec is how it compresses.
	Codec() arrowipc.Compression
	// Append appends src, compressed, to dst.
	Append(dst, src []byte) []byte
}

// body collects the buffers of a message.
type body struct {
	compressor Compressor // nil for none
	bytes      []byte
	nodes      []arrowipc.Node
	spans      []arrowipc.Span
	scratch    []byte
	// zero lists the buffers that hold nothing but zeros, and zeros is the length
	// of the longest. They share one place, behind the others: most columns of
	// most batches are null throughout.
	zero  []int
	zeros int64
}

func (b *body) reset() {
	b.bytes, b.nodes, b.spans = b.bytes[:0], b.nodes[:0], b.spans[:0]
	b.zero, b.zeros = b.zero[:0], 0
}

// appendTo appends the message of a record batch, or where id is not negative
// that of a dictionary.
func (b *body) appendTo(dst []byte, rows int, id int64) []byte {
	for _, i := range b.zero {
		b.spans[i].Offset = int64(len(b.bytes))
	}
	b.bytes = slices.Grow(b.bytes, int(b.zeros)+alignment)
	n := len(b.bytes) + int(b.zeros)
	clear(b.bytes[len(b.bytes):n])
	b.bytes = b.bytes[:n]
	b.align()
	batch := &arrowipc.Batch{Rows: int64(rows), Nodes: b.nodes, Buffers: b.spans}
	if b.compressor != nil {
		batch.Compression = b.compressor.Codec()
	}
	if id >= 0 {
		dst = arrowipc.AppendDictionary(dst, id, batch, int64(len(b.bytes)))
	} else {
		dst = arrowipc.AppendRecords(dst, batch, int64(len(b.bytes)))
	}
	return append(dst, b.bytes...)
}

// alignment is that of buffers.
const alignment = 8

func (b *body) align() {
	for len(b.bytes)%alignment != 0 {
		b.bytes = append(b.bytes, 0)
	}
}

// node begins an array, whose buffers follow.
func (b *body) node(n, nulls int) {
	b.nodes = append(b.nodes, arrowipc.Node{Length: int64(n), Nulls: int64(nulls)})
}

// buffer adds a buffer of n bytes, which fill appends.
func (b *body) buffer(n int, fill func(dst []byte) []byte) {
	start := len(b.bytes)
	b.bytes = fill(slices.Grow(b.bytes, n+alignment))
	b.end(start)
}

// end ends a buffer that starts there.
func (b *body) end(start int) {
	n := int64(len(b.bytes) - start)
	if n > 0 && b.compressor != nil {
		b.compress(start)
		n = int64(len(b.bytes) - start)
	} else if n > 0 && isZero(b.bytes[start:]) {
		b.bytes = b.bytes[:start]
		b.zero = append(b.zero, len(b.spans))
		b.zeros = max(b.zeros, n)
	}
	b.spans = append(b.spans, arrowipc.Span{Offset: int64(start), Length: n})
	b.align()
}

// compress compresses the buffer that starts there: its length stands in front,
// or -1 where it does not become smaller.
func (b *body) compress(start int) {
	const prefix = 8
	plain := b.bytes[start:]
	b.scratch = binary.LittleEndian.AppendUint64(b.scratch[:0], uint64(len(plain)))
	b.scratch = b.compressor.Append(b.scratch, plain)
	if len(b.scratch) < prefix+len(plain) {
		b.bytes = append(b.bytes[:start], b.scratch...)
		return
	}
	b.scratch = append(b.scratch[:0], plain...)
	b.bytes = binary.LittleEndian.AppendUint64(b.bytes[:start], ^uint64(0))
	b.bytes = append(b.bytes, b.scratch...)
}

// validity adds the bits of the n values that are not null, none where all are.
func (b *body) validity(valid bitmap, n, nulls int) {
	if nulls == 0 {
		b.end(len(b.bytes))
		return
	}
	b.bits(valid, n, 0xff)
}

// bits adds the first n bits; those that are not there are those of fill.
func (b *body) bits(bits bitmap, n int, fill byte) {
	b.buffer((n+7)/8, func(dst []byte) []byte {
		start := len(dst)
		dst = append(dst, bits[:min(len(bits), (n+7)/8)]...)
		for len(dst)-start < (n+7)/8 {
			dst = append(dst, fill)
		}
		if rest := n % 8; rest > 0 { // what follows the last bit is zero
			dst[len(dst)-1] &= 1<<rest - 1
		}
		return dst
	})
}

// array adds an array and its children.
func (b *body) array(a *array) {
	b.node(a.n, a.nulls)
	b.validity(a.valid, a.n, a.nulls)
	switch a.kind {
	case arrowipc.Int, arrowipc.Float:
		b.buffer(8*a.n, func(dst []byte) []byte {
			for _, v := range a.numbers {
				dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
			}
			return dst
		})
	case arrowipc.Bool:
		b.bits(a.bits, a.n, 0)
	case arrowipc.Utf8:
		b.offsets(a.offsets)
		b.buffer(len(a.text), func(dst []byte) []byte { return append(dst, a.text...) })
	case arrowipc.List, arrowipc.Map:
		b.offsets(a.offsets)
	}
	for _, c := range a.children {
		b.array(c)
	}
}

func (b *body) offsets(ends []int32) {
	b.buffer(4*(len(ends)+1), func(dst []byte) []byte {
		dst = append(dst, 0, 0, 0, 0)
		for _, end := range ends {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(end))
		}
		return dst
	})
}

// indexes adds the indexes of a column.
func (b *body) indexes(d *dictionary, rows int) {
	nulls := d.nulls + rows - len(d.index)
	b.node(rows, nulls)
	if nulls == 0 {
		b.end(len(b.bytes))
	} else {
		b.buffer((rows+7)/8, func(dst []byte) []byte { return d.appendValidity(dst, rows) })
	}
	// What stands in place of null does not matter: the index before, so that a
	// column of few values has long runs.
	b.buffer(2*rows, func(dst []byte) []byte {
		last := int16(0)
		for _, i := range d.index {
			if i != isNull {
				last = i
			}
			dst = binary.LittleEndian.AppendUint16(dst, uint16(last))
		}
		for range rows - len(d.index) {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(last))
		}
		return dst
	})
}

func (d *dictionary) appendValidity(dst []byte, rows int) []byte {
	start := len(dst)
	for range (rows + 7) / 8 {
		dst = append(dst, 0)
	}
	bits := dst[start:]
	for row, i := range d.index {
		if i != isNull {
			bits[row/8] |= 1 << (row % 8)
		}
	}
	return dst
}

// AppendTo appends the batch: its dictionaries, then the record batch. Those of
// columns without values are left out unless all is set: a stream must have had
// each of them before the first batch.
func (b *Builder) AppendTo(dst []byte, all bool) []byte {
	for id, d := range b.dicts {
		if d == nil || d.values.n == 0 && !all {
			continue
		}
		b.body.reset()
		b.body.array(d.values)
		dst = b.body.appendTo(dst, d.values.n, int64(id))
	}
	b.body.reset()
	for i, c := range b.columns {
		if c == nil {
			b.body.indexes(b.dicts[i], b.rows)
			continue
		}
		c.fill(b.rows)
		b.body.array(c)
	}
	return b.body.appendTo(dst, b.rows, -1)
}
