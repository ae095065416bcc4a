package otlp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/op"
)

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// framePrefix is the length of the big-endian number in front of each frame.
const framePrefix = 4

// FramedRecords reads the frames that the Collector's file exporter writes: a
// length in 4 bytes, then a batch in protobuf or JSON, which may be compressed
// with zstd by itself. name stands for src in errors; m is the table from
// attribute keys to fields, nil for the conventions.
func FramedRecords(src io.Reader, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := newFrameReader(src, name, m, yield)
		defer r.zstd.Close()
		r.frames()
	}
}

// frameReader reads frame by frame. After a damaged frame it goes on with the
// next one; a damaged length leaves no way to find that.
type frameReader struct {
	src    *bufio.Reader
	name   string
	offset int64 // of the frame that is read
	proto  protoReader
	json   *jsonReader
	zstd   *zstd.Decoder

	payload bytes.Buffer
	plain   []byte // the payload after decompression
}

func newFrameReader(src io.Reader, name string, m *op.Mapping, yield yieldFunc) *frameReader {
	d := newDecoder(m)
	r := &frameReader{src: bufio.NewReaderSize(src, windowSize), name: name}
	r.proto = protoReader{decoder: d, yield: yield}
	r.json = newJSONReader(d, newWindow(nil, name), r.fromJSON)
	// The options are valid, and so NewReader does not fail.
	r.zstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxFrameBytes))
	return r
}

// fromJSON hands on what a frame of JSON gave. A frame has no lines of its
// own, and one that is whole is not cut off.
func (r *frameReader) fromJSON(rec op.Record, err error) bool {
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		syntax.Line, syntax.Truncated = 0, false
	}
	return r.proto.yield(rec, err)
}

func (r *frameReader) frames() {
	for !r.proto.stopped && !r.json.stopped {
		more, err := r.frame()
		if err != nil {
			r.proto.emit(op.Record{}, err)
		}
		if !more {
			return
		}
	}
}

// frame reads the next frame and reports whether there may be another.
func (r *frameReader) frame() (more bool, err error) {
	var prefix [framePrefix]byte
	switch n, err := io.ReadFull(r.src, prefix[:]); {
	case err == io.EOF:
		return false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, r.truncated(fmt.Sprintf("frame cut off after %d bytes", n))
	case err != nil:
		return false, fmt.Errorf("reading frames: %w", err)
	}
	size := int64(binary.BigEndian.Uint32(prefix[:]))
	start := r.offset
	r.offset += framePrefix + size
	if size > MaxMessageBytes {
		err = r.syntaxError(start, fmt.Sprintf("frame of %d bytes is longer than %d MiB", size, MaxMessageBytes>>20))
		if n, copyErr := io.CopyN(io.Discard, r.src, size); copyErr != nil {
			return false, r.short(start, n, size, copyErr)
		}
		return true, err
	}
	r.payload.Reset()
	if n, err := io.CopyN(&r.payload, r.src, size); err != nil {
		return false, r.short(start, n, size, err)
	}
	return r.batch(start)
}

// short describes a frame of which only n bytes could be read.
func (r *frameReader) short(start, n, size int64, err error) error {
	if err != io.EOF {
		return fmt.Errorf("reading frames: %w", err)
	}
	r.offset = start
	return r.truncated(fmt.Sprintf("frame of %d bytes cut off after %d", size, n))
}

// batch reads what the frame at start holds.
func (r *frameReader) batch(start int64) (more bool, err error) {
	payload := r.payload.Bytes()
	if bytes.HasPrefix(payload, zstdMagic) {
		if r.plain, err = r.zstd.DecodeAll(payload, r.plain[:0]); err != nil {
			return true, r.syntaxError(start, "frame is not valid zstd: "+err.Error())
		}
		payload = r.plain
	}
	// White space in front would be ambiguous: a message may start with "\n{".
	if len(payload) > 0 && payload[0] == '{' {
		r.json.w.reset(bytes.NewReader(payload), start+framePrefix)
		r.json.documents()
		return true, nil
	}
	if err := r.proto.traces(wire{buf: payload}); err != nil {
		return true, r.syntaxError(start, err.Error())
	}
	return true, nil
}

func (r *frameReader) syntaxError(offset int64, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: offset, Msg: msg}
}

func (r *frameReader) truncated(msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: r.offset, Msg: msg, Truncated: true}
}
