package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/arrowtable"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/op"
)

// New returns the format, with buffers that compressors made by newCompressor
// compress, nil for none. It serves one sink.
func New(newCompressor func() arrowtable.Compressor) encoding.Format {
	return &format{newCompressor: newCompressor}
}

type format struct {
	newCompressor func() arrowtable.Compressor
	// The following are made for the first batch.
	writer *arrowtable.Writer
	head   *arrowtable.Table // of the records in front of a batch
	rows   []byte            // of head
}

func (f *format) newWriter() *arrowtable.Writer {
	if f.newCompressor == nil {
		return arrowtable.NewWriter(nil)
	}
	return arrowtable.NewWriter(f.newCompressor())
}

func (*format) Name() string { return "arrow" }

func (*format) Lines() bool { return false }

// Complete is not called: the next write completes an incomplete one.
func (*format) Complete(*encoding.Batch, []byte) int { return 0 }

// BatchBytes makes room for the rows of a batch and what they refer to.
func (*format) BatchBytes() int {
	const perRow = 128
	return arrowtable.MaxRows * perRow
}

func (*format) NewEncoder(m *op.Mapping, cacheBytes int) encoding.Encoder {
	return newEncoder(m, cacheBytes)
}

// Frame writes the schema in front of the first batch of a stream, and in front of
// each what it says of itself.
func (f *format) Frame(b *encoding.Batch, fr *encoding.Framing) (framed []byte, head int) {
	out := fr.Scratch
	if fr.Start {
		out = arrowtable.AppendSchema(out, op.Schema)
	}
	if f.writer == nil {
		f.writer, f.head = f.newWriter(), arrowtable.NewTable()
	}
	f.head.Reset()
	rows := f.head.AppendBatch(f.rows[:0], &op.Batch{Writer: fr.Writer, Sequence: fr.Sequence, Entries: int64(b.Entries)})
	if fr.Header && b.FirstResource != nil {
		rows = f.head.AppendResource(rows, b.FirstResource)
	}
	for i := range fr.Gaps {
		rows = f.head.AppendGap(rows, &fr.Gaps[i])
	}
	f.rows = rows
	out = f.writer.Append(out, f.head, rows, fr.Start)
	if rows, ok := b.Columns.(*arrowtable.Table); ok && !b.Empty() {
		out = f.writer.Append(out, rows, b.Body(), false)
	}
	fr.Scratch = out
	return out, 0
}

// Recognize looks at the schema, which the first message of a stream is.
func (*format) Recognize(head []byte) encoding.Origin {
	s := messages{src: bytes.NewReader(head), size: int64(len(head))}
	m, _, err := s.next(0)
	mark := binary.LittleEndian.AppendUint32(nil, arrowipc.Continuation)
	n := min(len(head), len(mark))
	switch {
	case err == nil && s.isOurs(), errors.Is(err, errCutOff) && bytes.Equal(head[:n], mark[:n]):
		return encoding.Own
	case err == nil && m.Schema != nil && m.Schema.Value(arrowtable.SchemaKey) == op.Schema: // of another version
		return encoding.Damaged
	case err != nil && !bytes.HasPrefix(head, []byte("ARROW1")) && bytes.Contains(head, []byte(arrowtable.SchemaKey)):
		return encoding.Damaged
	}
	return encoding.Foreign
}

// Whole goes from one message to the next, up to the end of the last record batch. A
// stream that has come to its end, or that turns to other columns than those written
// now, is not whole: it cannot be continued.
func (*format) Whole(r io.ReaderAt, from, size int64) (whole int64, err error) {
	whole = from
	s := messages{src: r, size: size}
	for at := from; at < size; {
		m, end, err := s.next(at)
		switch {
		case errors.Is(err, errCutOff) || errors.Is(err, errDamaged):
			return whole, nil
		case err != nil:
			return whole, err
		case m.Schema != nil && !s.isOurs():
			return whole, nil
		}
		at = end
		if m.Kind != arrowipc.DictionaryBatchMessage {
			whole = at
		}
	}
	return whole, nil
}

// messages reads the metadata of messages.
type messages struct {
	src    io.ReaderAt
	size   int64
	buffer []byte // the last one, up to its body
}

var (
	errCutOff  = errors.New("the message is cut off")
	errDamaged = errors.New("there is no message")
)

// maxMetadata bounds the metadata of messages: those of ours have a few kilobytes.
const maxMetadata = 1 << 20

// next reads the metadata of the message at a place and returns where its body
// ends.
func (s *messages) next(at int64) (m arrowipc.Message, end int64, err error) {
	if err := s.read(at, arrowipc.PrefixSize); err != nil {
		return m, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(s.buffer[4:]))
	if binary.LittleEndian.Uint32(s.buffer) != arrowipc.Continuation || n == 0 || n > maxMetadata {
		return m, 0, errDamaged
	}
	if err := s.read(at, arrowipc.PrefixSize+n); err != nil {
		return m, 0, err
	}
	if m, err = arrowipc.ReadMessage(s.buffer[arrowipc.PrefixSize:]); err != nil {
		return m, 0, errDamaged
	}
	start := at + int64(len(s.buffer))
	if m.BodyLength > s.size-start {
		return m, 0, errCutOff
	}
	return m, start + m.BodyLength, nil
}

// read reads n bytes at a place.
func (s *messages) read(at, n int64) error {
	if n > s.size-at {
		return errCutOff
	}
	s.buffer = append(s.buffer[:0], make([]byte, n)...)
	_, err := s.src.ReadAt(s.buffer, at)
	return err
}

// isOurs reports whether the last message is the schema that is written now.
func (s *messages) isOurs() bool {
	return bytes.Equal(s.buffer, arrowtable.AppendSchema(nil, op.Schema))
}
