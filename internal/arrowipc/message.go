package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// alignment is that of messages and buffers.
const alignment = 8

// version5 is the version of the metadata since Arrow 1.0. Older ones keep
// validity in unions.
const version5 = 4

// MessageKind says what a message holds.
type MessageKind uint8

// The kinds of messages that are read; others are passed over.
const (
	SchemaMessage          MessageKind = 1
	DictionaryBatchMessage MessageKind = 2
	RecordBatchMessage     MessageKind = 3
)

// Continuation stands before the length of the metadata of each message.
const Continuation = 0xffffffff

// PrefixSize is the size of what stands in front of the metadata: Continuation
// and the length.
const PrefixSize = 8

// Compression is how the buffers of a body are compressed, each on its own.
type Compression uint8

// The compressions.
const (
	Uncompressed Compression = iota
	LZ4Frame
	Zstd
)

// Span is the place of a buffer in a body.
type Span struct{ Offset, Length int64 }

// Node is the length of an array, and how many of its values are null.
type Node struct{ Length, Nulls int64 }

// Batch describes the arrays in the body of a message.
type Batch struct {
	Rows    int64
	Nodes   []Node
	Buffers []Span
	// Variadic holds, for each array of views, how many buffers of data it has.
	Variadic    []int64
	Compression Compression
}

// Message is the metadata of a message.
type Message struct {
	Kind       MessageKind
	BodyLength int64
	Schema     *Schema // of a SchemaMessage
	Batch      *Batch  // of the batches
	// Dictionary is the id of the dictionary, and Delta tells that its values join
	// those of the one before.
	Dictionary int64
	Delta      bool
}

// AppendSchema appends the message of a schema.
func AppendSchema(dst []byte, s *Schema) []byte {
	return appendMetadata(dst, SchemaMessage, s.header(), 0)
}

// AppendRecords appends the metadata of a record batch with a body of that many
// bytes, which a caller appends behind it.
func AppendRecords(dst []byte, b *Batch, bodyLength int64) []byte {
	return appendMetadata(dst, RecordBatchMessage, b.header(), bodyLength)
}

// AppendDictionary appends the metadata of a batch that replaces a dictionary.
func AppendDictionary(dst []byte, id int64, b *Batch, bodyLength int64) []byte {
	return appendMetadata(dst, DictionaryBatchMessage, table{num64(id), ref(b.header()), flag(false)}, bodyLength)
}

func appendMetadata(dst []byte, kind MessageKind, header table, bodyLength int64) []byte {
	metadata := finish(table{num16(version5), num8(uint8(kind)), ref(header), num64(bodyLength)})
	dst = binary.LittleEndian.AppendUint32(dst, Continuation)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(metadata)))
	return append(dst, metadata...)
}

func (b *Batch) header() table {
	nodes, buffers := make(pairs, len(b.Nodes)), make(pairs, len(b.Buffers))
	for i, n := range b.Nodes {
		nodes[i] = [2]int64{n.Length, n.Nulls}
	}
	for i, s := range b.Buffers {
		buffers[i] = [2]int64{s.Offset, s.Length}
	}
	t := table{num64(b.Rows), ref(nodes), ref(buffers), {}}
	if b.Compression != Uncompressed {
		t[3] = ref(table{num8(uint8(b.Compression - LZ4Frame)), num8(0)})
	}
	return t
}

// ReadMessage reads the metadata of a message.
func ReadMessage(metadata []byte) (m Message, err error) {
	v := root(metadata)
	m.Kind = MessageKind(v.number(1, 1, 0))
	m.BodyLength = v.number(3, 8, 0)
	version, header := v.number(0, 2, 0), v.table(2)
	switch {
	case v.err() != nil:
		return m, v.err()
	case m.BodyLength < 0:
		return m, errMetadata
	case version != version5 && version != version5-1:
		return m, fmt.Errorf("metadata of version %d are not supported", version+1)
	}
	switch m.Kind {
	case SchemaMessage:
		m.Schema, err = readSchema(header)
	case DictionaryBatchMessage:
		m.Dictionary, m.Delta = header.number(0, 8, 0), header.number(2, 1, 0) != 0
		m.Batch, err = readBatch(header.table(1))
	case RecordBatchMessage:
		m.Batch, err = readBatch(header)
	}
	if err == nil {
		err = v.err()
	}
	return m, err
}

func readBatch(v view) (*Batch, error) {
	b := &Batch{Rows: v.number(0, 8, 0), Variadic: v.int64s(4, 8)}
	nodes, buffers := v.int64s(1, 16), v.int64s(2, 16)
	for i := 0; i < len(nodes); i += 2 {
		b.Nodes = append(b.Nodes, Node{nodes[i], nodes[i+1]})
	}
	for i := 0; i < len(buffers); i += 2 {
		b.Buffers = append(b.Buffers, Span{buffers[i], buffers[i+1]})
	}
	if c := v.table(3); c.exists() {
		codec, method := c.number(0, 1, 0), c.number(1, 1, 0)
		if codec > 1 || method != 0 {
			return nil, fmt.Errorf("compression %d is not supported", codec)
		}
		b.Compression = LZ4Frame + Compression(codec)
	}
	if v.err() == nil && b.Rows < 0 {
		return nil, errors.New("a batch of less than no rows")
	}
	return b, v.err()
}

// ReadFooter reads the schema in the footer of a file.
func ReadFooter(metadata []byte) (*Schema, error) { return readSchema(root(metadata).table(1)) }

// End returns the mark of the end of a stream.
func End() []byte { return binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, 0) }
