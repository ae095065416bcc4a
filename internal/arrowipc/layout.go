package arrowipc

import "encoding/binary"

// Layout is the metadata of messages that differ in nothing but numbers: how many
// rows there are, and where the buffers lie. Writing one is a copy.
type Layout struct {
	message []byte
	// The places of the numbers.
	bodyLength, rows, nodes, buffers int
}

// RecordsLayout returns the layout of record batches of that many arrays and
// buffers.
func RecordsLayout(nodes, buffers int, c Compression) *Layout {
	return newLayout(AppendRecords(nil, emptyBatch(nodes, buffers, c), 0), false)
}

// DictionaryLayout returns the layout of batches that replace a dictionary.
func DictionaryLayout(id int64, nodes, buffers int, c Compression) *Layout {
	return newLayout(AppendDictionary(nil, id, emptyBatch(nodes, buffers, c), 0), true)
}

func emptyBatch(nodes, buffers int, c Compression) *Batch {
	return &Batch{Nodes: make([]Node, nodes), Buffers: make([]Span, buffers), Compression: c}
}

// newLayout finds the places as a reader does.
func newLayout(message []byte, isDictionary bool) *Layout {
	v := root(message[PrefixSize:])
	batch := v.table(2)
	if isDictionary {
		batch = batch.table(1)
	}
	nodes, _ := batch.vector(1, pairSize)
	buffers, _ := batch.vector(2, pairSize)
	return &Layout{
		message: message, bodyLength: PrefixSize + v.field(3, 8), rows: PrefixSize + batch.field(0, 8),
		nodes: PrefixSize + nodes, buffers: PrefixSize + buffers,
	}
}

// pairSize is the size of a Node and of a Span in metadata.
const pairSize = 16

// AppendTo appends the metadata, for Fill to complete once the body stands behind
// it.
func (l *Layout) AppendTo(dst []byte) []byte { return append(dst, l.message...) }

// Fill completes the metadata that message begins with.
func (l *Layout) Fill(message []byte, b *Batch, bodyLength int64) {
	put := func(at int, v int64) { binary.LittleEndian.PutUint64(message[at:], uint64(v)) }
	put(l.bodyLength, bodyLength)
	put(l.rows, b.Rows)
	for i, n := range b.Nodes {
		put(l.nodes+pairSize*i, n.Length)
		put(l.nodes+pairSize*i+8, n.Nulls)
	}
	for i, s := range b.Buffers {
		put(l.buffers+pairSize*i, s.Offset)
		put(l.buffers+pairSize*i+8, s.Length)
	}
}
