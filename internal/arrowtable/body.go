package arrowtable

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
)

// Compressor compresses buffers. It is used by one goroutine at a time.
type Compressor interface {
	// Codec is how it compresses.
	Codec() arrowipc.Compression
	// Append appends src, compressed, to dst.
	Append(dst, src []byte) []byte
}

// body writes messages: their metadata, and the buffers of their bodies.
type body struct {
	compressor Compressor // nil for none
	out        []byte
	layout     *arrowipc.Layout // of the message
	message    int              // where it starts in out
	start      int              // where its body does
	nodes      []arrowipc.Node
	spans      []arrowipc.Span
	scratch    []byte
	// zero lists the buffers that hold nothing but zeros, and zeros is the length
	// of the longest. They share one place, behind the others: most columns of
	// most batches are null throughout.
	zero  []int
	zeros int
}

// begin begins a message.
func (b *body) begin(l *arrowipc.Layout) {
	b.layout, b.message = l, len(b.out)
	b.out = l.AppendTo(b.out)
	b.start = len(b.out)
	b.nodes, b.spans, b.zero, b.zeros = b.nodes[:0], b.spans[:0], b.zero[:0], 0
}

// finish ends the message.
func (b *body) finish(rows int) {
	for _, i := range b.zero {
		b.spans[i].Offset = int64(len(b.out) - b.start)
	}
	b.out = appendZeros(b.out, b.zeros)
	b.align()
	batch := arrowipc.Batch{Rows: int64(rows), Nodes: b.nodes, Buffers: b.spans}
	b.layout.Fill(b.out[b.message:], &batch, int64(len(b.out)-b.start))
}

// appendZeros appends n bytes.
func appendZeros(dst []byte, n int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n+alignment)[:start+n]
	clear(dst[start:])
	return dst
}

// alignment is that of buffers.
const alignment = 8

func (b *body) align() {
	for (len(b.out)-b.start)%alignment != 0 {
		b.out = append(b.out, 0)
	}
}

// node begins an array, whose buffers follow.
func (b *body) node(n, nulls int) {
	b.nodes = append(b.nodes, arrowipc.Node{Length: int64(n), Nulls: int64(nulls)})
}

// none adds a buffer without bytes.
func (b *body) none() {
	b.spans = append(b.spans, arrowipc.Span{Offset: int64(len(b.out) - b.start)})
}

// allZero adds a buffer of n bytes that are zero.
func (b *body) allZero(n int) {
	if b.compressor != nil {
		start := len(b.out)
		b.out = appendZeros(b.out, n)
		b.end(start)
		return
	}
	b.zero = append(b.zero, len(b.spans))
	b.zeros = max(b.zeros, n)
	b.spans = append(b.spans, arrowipc.Span{Length: int64(n)})
}

// anything adds a buffer of n bytes whose content does not matter: one that there is.
func (b *body) anything(n int) {
	for _, s := range b.spans {
		if b.compressor == nil && s.Length >= int64(n) && s.Offset+s.Length <= int64(len(b.out)-b.start) {
			b.spans = append(b.spans, arrowipc.Span{Offset: s.Offset, Length: int64(n)})
			return
		}
	}
	b.allZero(n)
}

// grow makes room for a buffer of n bytes, and returns it for the caller to fill,
// which starts there in out.
func (b *body) grow(n int) (buf []byte, start int) {
	start = len(b.out)
	b.out = slices.Grow(b.out, n+alignment)[:start+n]
	return b.out[start:], start
}

// end ends a buffer that starts there in out. Where an equal one lies before it, that
// is used in its place: the columns of operations are null in the same rows, and some
// have indexes that follow one another alike.
func (b *body) end(start int) {
	n := len(b.out) - start
	switch {
	case n > 0 && b.compressor != nil:
		b.compress(start)
	case n > 0 && isZero(b.out[start:]):
		b.out = b.out[:start]
		b.allZero(n)
		return
	}
	at := arrowipc.Span{Offset: int64(start - b.start), Length: int64(len(b.out) - start)}
	for _, s := range b.spans {
		if s.Length == at.Length && s.Offset+s.Length <= at.Offset && bytes.Equal(b.out[b.start+int(s.Offset):][:s.Length], b.out[start:]) {
			b.out = b.out[:start]
			b.spans = append(b.spans, s)
			return
		}
	}
	b.spans = append(b.spans, at)
	b.align()
}

// compress compresses the buffer that starts there: its length stands in front,
// or -1 where it does not become smaller.
func (b *body) compress(start int) {
	const prefix = 8
	plain := b.out[start:]
	b.scratch = binary.LittleEndian.AppendUint64(b.scratch[:0], uint64(len(plain)))
	b.scratch = b.compressor.Append(b.scratch, plain)
	if len(b.scratch) < prefix+len(plain) {
		b.out = append(b.out[:start], b.scratch...)
		return
	}
	b.scratch = append(b.scratch[:0], plain...)
	b.out = binary.LittleEndian.AppendUint64(b.out[:start], ^uint64(0))
	b.out = append(b.out, b.scratch...)
}

// array adds an array and its children.
func (b *body) array(a *array) {
	b.node(a.n, a.nulls)
	b.validity(a)
	switch a.kind {
	case arrowipc.Int, arrowipc.Float:
		b.numbers(a)
	case arrowipc.Utf8:
		b.offsets(a.offsets)
		start := len(b.out)
		b.out = append(b.out, a.text...)
		b.end(start)
	case arrowipc.List, arrowipc.Map:
		b.offsets(a.offsets)
	}
	for _, c := range a.children {
		b.array(c)
	}
}

// numbers adds integers, or the bits of floating-point numbers.
func (b *body) numbers(a *array) {
	if a.dims != nil {
		buf, start := b.grow(dimIndex.Bits / 8 * a.n)
		for i, v := range a.numbers {
			binary.LittleEndian.PutUint32(buf[4*i:], uint32(v))
		}
		b.end(start)
		return
	}
	buf, start := b.grow(8 * a.n)
	for i, v := range a.numbers {
		binary.LittleEndian.PutUint64(buf[8*i:], uint64(v))
	}
	b.end(start)
}

// validity adds the bits of the values that are not null, none where all are.
func (b *body) validity(a *array) {
	if a.nulls == 0 {
		b.none()
		return
	}
	buf, start := b.grow((a.n + 7) / 8)
	for i := range buf {
		buf[i] = 0xff
	}
	copy(buf, a.valid)
	trim(buf, a.n)
	b.end(start)
}

// trim clears what follows the n-th bit.
func trim(bits []byte, n int) {
	if rest := n % 8; rest > 0 {
		bits[len(bits)-1] &= 1<<rest - 1
	}
}

func (b *body) offsets(ends []int32) {
	buf, start := b.grow(4 * (len(ends) + 1))
	binary.LittleEndian.PutUint32(buf, 0)
	for i, end := range ends {
		binary.LittleEndian.PutUint32(buf[4*(1+i):], uint32(end))
	}
	b.end(start)
}
