package otlp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// framePrefix is the length of the big-endian number in front of each frame.
const framePrefix = 4

// FramedRecords reads the frames that the Collector's file exporter writes: a
// length in 4 bytes, then a batch in protobuf or JSON, which may be compressed
// with zstd by itself. name stands for src in errors; m is the table from
// attribute keys to fields, nil for the conventions.
func FramedRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewFrameReader(m).Records(src, name, op.Position{})
}

// FrameReader is FramedRecords for several files, or parts of files, one after
// the other. It keeps its buffers, and the strings and attribute keys it has met.
// It is not safe for concurrent use.
//
// After a damaged frame it goes on with the next one. Where the length is damaged, that
// is the next place at which a frame starts that another one follows, or the end of
// the input.
type FrameReader struct {
	*spans.Decoder
	in    input
	name  string
	proto *spans.Proto
	json  *jsonReader
	zstd  *zstd.Decoder
	plain []byte // a frame after decompression
}

// NewFrameReader returns a reader; m is the table from attribute keys to fields,
// nil for the conventions.
func NewFrameReader(m *attr.Mapping) *FrameReader {
	d := spans.New(m)
	return &FrameReader{Decoder: d, proto: spans.NewProto(d), json: newJSONReader(d)}
}

// Records reads src, which starts with a frame at a position of the file called
// name. The frames of a *bytes.Buffer are read where they lie in memory.
func (r *FrameReader) Records(src io.Reader, name string, at op.Position) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r.in.reset(src, at.Offset)
		r.name, r.Yield, r.Stopped = name, yield, false
		for more := true; more && !r.Stopped; {
			var err error
			if more, err = r.frame(); err != nil {
				r.Emit(op.Record{}, err)
			}
		}
	}
}

// CutFrames returns how many of the first bytes of text, which starts with a
// frame, are whole frames, up to the first that is damaged. What follows them in text
// looks like a frame, so that it is known where they end.
func CutFrames(text []byte) (end int) {
	n := 0
	for len(text)-n >= framePrefix {
		size := int64(binary.BigEndian.Uint32(text[n:]))
		next := int64(n) + framePrefix + size
		if size > MaxMessageBytes || next+framePrefix > int64(len(text)) {
			break
		}
		follows := startsFrame(text[next:])
		if !follows && !isWhole(text[n+framePrefix:next]) {
			break
		}
		if n = int(next); follows {
			end = n
		}
	}
	return end
}

// frame reads the next frame and reports whether there may be another.
func (r *FrameReader) frame() (more bool, err error) {
	start := r.in.position()
	prefix, err := r.in.take(framePrefix)
	switch {
	case err == io.EOF && len(prefix) == 0:
		return false, nil
	case err != nil:
		return false, r.short(start, fmt.Sprintf("frame cut off after %d bytes", len(prefix)), err)
	}
	size := int64(binary.BigEndian.Uint32(prefix))
	if size > MaxMessageBytes {
		return r.resume(start, size)
	}
	n := int(size)
	payload := r.in.peek(n)
	switch {
	case len(payload) == n && isWhole(payload):
	case len(payload) == n:
		// In a file that grows this waits for what is next.
		text := r.in.peek(n + frameHead)
		if payload = text[:n]; len(text) > n && !startsFrame(text[n:]) {
			return r.resume(start, size)
		}
	case r.in.err == io.EOF:
		return r.resume(start, size)
	default:
		return false, r.short(start, "", r.in.err)
	}
	r.in.pos += n
	return true, r.batch(start, payload)
}

// resume goes on behind the length of a frame at start that nothing is known to follow:
// with the next frame that is found. What lies in front of that is the damaged frame's.
func (r *FrameReader) resume(start, size int64) (more bool, err error) {
	payload, found, err := nextFrame(&r.in)
	if err != nil {
		return false, r.short(start, "", err)
	}
	n := int64(len(payload))
	switch {
	case found && size > MaxMessageBytes && r.in.position() == start+framePrefix+size:
		return true, r.syntaxError(op.ErrorLimit, start, fmt.Sprintf("frame of %d bytes is longer than %d MiB", size, MaxMessageBytes>>20))
	case !found && r.in.position() < start+framePrefix+size:
		return false, r.short(start, fmt.Sprintf("frame of %d bytes cut off after %d", size, r.in.position()-start-framePrefix), io.EOF)
	case !found:
		payload = payload[:min(n, size)]
	}
	err = r.batch(start, payload)
	if err == nil {
		msg := fmt.Sprintf("frame with a length of %d bytes and %d in it", size, n)
		err = r.syntaxError(op.ErrorDamaged, start, msg)
	}
	return found, err
}

// short returns the error for a frame at start that could not be read, which msg
// describes for the end of the file.
func (r *FrameReader) short(start int64, msg string, err error) error {
	if err != io.EOF {
		return fmt.Errorf("reading frames: %w", err)
	}
	return &op.SyntaxError{File: r.name, Offset: start, Msg: msg, Truncated: true}
}

// batch reads the payload of the frame at start.
func (r *FrameReader) batch(start int64, payload []byte) (err error) {
	if bytes.HasPrefix(payload, zstdMagic) {
		if r.plain, err = r.decompress(payload); err != nil {
			return r.syntaxError(op.ErrorDamaged, start, "frame is not valid zstd: "+err.Error())
		}
		payload = r.plain
	}
	// White space in front would be ambiguous: a message may start with "\n{".
	if len(payload) > 0 && payload[0] == '{' {
		yield := r.Yield
		defer func() { r.Yield = yield }()
		r.json.start(func(rec op.Record, err error) bool { // what one frame holds says nothing of another
			if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
				syntax.Line, syntax.Truncated = 0, false // a frame has no lines, and is whole
			}
			return yield(rec, err)
		})
		r.json.w.reset(bytes.NewBuffer(payload), r.name, op.Position{Offset: start + framePrefix})
		r.json.documents()
		return nil
	}
	if err := r.proto.ReadTraces(payload); err != nil {
		return r.syntaxError(op.ErrorSyntax, start, err.Error())
	}
	return nil
}

func (r *FrameReader) decompress(payload []byte) ([]byte, error) {
	if r.zstd == nil {
		// The options are valid, and so NewReader does not fail. Without a stream to
		// read, the decoder has nothing to close.
		r.zstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxFrameBytes))
	}
	return r.zstd.DecodeAll(payload, r.plain[:0])
}

func (r *FrameReader) syntaxError(class op.ErrorClass, offset int64, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: offset, Msg: msg, Class: class}
}
