package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// FramedRecords reads the frames that the Collector's file exporter writes: a length in 4 bytes, then a batch in
// protobuf or JSON, which may be compressed with zstd by itself. name stands for src in errors; m is the table from
// attribute keys to fields, nil for the conventions.
func FramedRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewFrameReader(m, FramingProto).Records(src, name, op.Position{})
}

// ProtoRecords is FramedRecords for one TracesData message, or several one behind the other, which protobuf makes one.
func ProtoRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewFrameReader(m, FramingRaw).Records(src, name, op.Position{})
}

// FrameReader is FramedRecords or ProtoRecords for several files, or parts of files, one after the other. It keeps its
// buffers, and the strings and attribute keys it has met. It is not safe for concurrent use.
//
// After a damaged frame it goes on with the next one. Where the length may be damaged, that is the next place at which
// a frame starts that another one follows, or the end of the input. In a message that is not framed there is no telling
// such a place.
type FrameReader struct {
	*spans.Decoder
	framing Framing
	in      input
	name    string
	proto   *spans.Proto
	json    *jsonReader
	zstd    *zstd.Decoder
	plain   []byte // a frame after decompression
	held    budget.Account
}

// NewFrameReader returns a reader; m is the table from attribute keys to fields, nil for the conventions.
func NewFrameReader(m *attr.Mapping, f Framing) *FrameReader {
	d := spans.New(m)
	return &FrameReader{Decoder: d, framing: f, proto: spans.NewProto(d), json: newJSONReader(d),
		held: attrmap.Account(m)}
}

// Records reads src, which starts with a frame at a position of the file called name. The frames of a *bytes.Buffer are
// read where they lie in memory.
func (r *FrameReader) Records(src io.Reader, name string, at op.Position) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r.in.reset(src, at.Offset)
		r.name, r.Yield, r.Stopped = name, yield, false
		for !r.Stopped && r.frame() {
		}
		if err := r.in.Err; err != nil && err != io.EOF {
			r.Emit(op.Record{}, fmt.Errorf("reading OTLP: %w", err))
		}
	}
}

// CutFrames returns how many of the first bytes of text, which starts with a frame, are whole frames, up to the first
// that is damaged. What follows them in text looks like a frame, so that it is known where they end.
func CutFrames(text []byte, f Framing) (end int) {
	for {
		head, size, err := f.extent(text[end:])
		next := end + head + size
		if err != nil || next > len(text)-frameHead || !f.begins(text[next:]) {
			return end
		}
		end = next
	}
}

// frame reads the next frame and reports whether there may be another.
func (r *FrameReader) frame() (more bool) {
	in := &r.in
	start := in.Offset + int64(in.pos)
	head, size, err := r.extent()
	text := in.peek(head + size)
	missing := head + size - len(text)
	switch {
	case in.Err != nil && in.Err != io.EOF && (err != nil || missing > 0):
		return false // which Records reports
	case err == io.EOF:
		return false
	case err == nil && missing > 0:
		err = &op.SyntaxError{Msg: fmt.Sprintf("frame of %d bytes cut off after %d", size, size-missing),
			Truncated: true}
	case err == nil && r.batch(start, text[head:]):
		in.pos += len(text)
		return true
	case err == nil:
		behind := in.peek(len(text) + frameHead)[len(text):]
		if len(behind) == 0 || r.framing.begins(behind) {
			in.pos += len(text)
			return true
		}
	}
	found := r.resume()
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		syntax.File = r.name
		syntax.Offset = start
		if found && syntax.Truncated {
			syntax.Truncated = false
			syntax.Class = op.ErrorDamaged
		}
		r.Emit(op.Record{}, syntax)
	}
	return found
}

// extent returns the sizes of the next frame's head and content. The error is io.EOF where there is none, and otherwise
// describes the frame.
func (r *FrameReader) extent() (head, size int, err error) {
	most := MaxMessageBytes
	if r.framing == FramingRaw {
		most = MaxFrameBytes
	}
	for n := framePrefix; ; n *= 2 {
		text := r.in.peek(n)
		if len(text) == 0 {
			return 0, 0, io.EOF
		}
		head, size, err = r.framing.extent(text)
		switch {
		case err == protobuf.ErrEnd && len(text) == n && n < MaxMessageBytes:
			continue
		case err == protobuf.ErrEnd:
			return 0, 0, &op.SyntaxError{Msg: fmt.Sprintf("frame cut off after %d bytes", len(text)), Truncated: true}
		case err != nil:
			return 0, 0, &op.SyntaxError{Msg: err.Error()}
		case size > most:
			msg := fmt.Sprintf("frame of %d bytes is longer than %d MiB", size, most>>20)
			return 0, 0, &op.SyntaxError{Msg: msg, Class: op.ErrorLimit}
		}
		return head, size, nil
	}
}

// resume goes to the next frame, behind the place where the reader stands, that another one follows or that ends the
// input, and reports whether there is one.
func (r *FrameReader) resume() (found bool) {
	in := &r.in
	for r.framing != FramingRaw {
		in.pos = min(in.pos+1, len(in.Text))
		text := in.peek(frameHead)
		if len(text) == 0 {
			break
		}
		if !r.framing.begins(text) {
			continue
		}
		head, size, err := r.framing.extent(text)
		if err != nil || size > MaxMessageBytes {
			continue
		}
		end := head + size
		text = in.peek(end + frameHead)
		if len(text) == end || len(text) > end && r.framing.begins(text[end:]) {
			return true
		}
	}
	return false
}

// batch reads the content of the frame at start, and reports whether all of it could be read.
func (r *FrameReader) batch(start int64, content []byte) (ok bool) {
	if r.framing != FramingRaw && bytes.HasPrefix(content, zstdMagic) {
		if err := r.decompress(content); err != nil {
			r.Emit(op.Record{}, r.damage(start, "frame is not valid zstd: "+err.Error(), op.ErrorDamaged))
			return false
		}
		content = r.plain
	}
	// White space in front would be ambiguous: a message may start with "\n{".
	if len(content) > 0 && content[0] == '{' {
		return r.batchOfJSON(start+framePrefix, content)
	}
	if err := r.proto.ReadTraces(content); err != nil {
		r.Emit(op.Record{}, r.damage(start, err.Error(), op.ErrorSyntax))
		return false
	}
	return true
}

// batchOfJSON is batch for JSON at a place of the file.
func (r *FrameReader) batchOfJSON(at int64, content []byte) (ok bool) {
	yield := r.Yield
	defer func() { r.Yield = yield }()
	r.json.start(func(rec op.Record, err error) bool { // what one frame holds says nothing of another
		if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
			syntax.Line = 0
			syntax.Truncated = false // a frame has no lines, and is whole
		}
		return yield(rec, err)
	})
	r.json.w.reset(bytes.NewBuffer(content), r.name, op.Position{Offset: at})
	r.json.documents()
	return r.json.faults == 0
}

// decompress decompresses a frame to plain. It asks for the memory first: for as much as the frame says that it takes,
// and for more where that does not suffice.
func (r *FrameReader) decompress(content []byte) error {
	if r.zstd == nil {
		// The options are valid, and so NewReader does not fail. Without a stream to read, the decoder has nothing to
		// close.
		r.zstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(minPlain))
		r.plain = make([]byte, 0, minPlain)
	}
	var head zstd.Header
	_ = head.Decode(content) // DecodeAll says what is wrong
	for size := max(head.FrameContentSize, min(head.WindowSize, MaxFrameBytes)); ; size = 2 * uint64(cap(r.plain)) {
		if size > MaxFrameBytes {
			return zstd.ErrDecoderSizeExceeded
		}
		if size > uint64(cap(r.plain)) {
			if err := r.held.Set(int64(size), 1); err != nil {
				return err
			}
			r.plain = make([]byte, 0, size)
			if err := r.zstd.ResetWithOptions(nil, zstd.WithDecoderMaxMemory(size)); err != nil {
				return err
			}
		}
		var err error
		r.plain, err = r.zstd.DecodeAll(content, r.plain[:0])
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) && !errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return err
		}
	}
}

// minPlain is room for usual frames after decompression.
const minPlain = 256 << 10

func (r *FrameReader) damage(start int64, msg string, class op.ErrorClass) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: start, Msg: msg, Class: class}
}

// input reads a stream piece by piece.
type input struct {
	lineio.Buffer
	pos int // in Text
}

func (in *input) reset(src io.Reader, offset int64) {
	in.Reset(src, offset)
	in.pos = 0
}

// peek returns the next n bytes without taking them, or fewer where the input ends or fails. They are valid until the
// next call. It allocates for the bytes that exist, not for n.
func (in *input) peek(n int) []byte {
	for len(in.Text)-in.pos < n && in.Err == nil {
		if len(in.Text) == cap(in.Text) {
			in.Slide(in.pos, math.MaxInt)
			in.pos = 0
		}
		in.Read()
	}
	return in.Text[in.pos:min(in.pos+n, len(in.Text))]
}

// The limits of what is held in memory at a time.
const (
	// MaxElementBytes is the longest span, resource or scope in JSON, and how far is read ahead for a resource or scope
	// that follows its spans. Every known writer puts it in front.
	MaxElementBytes = 16 << 20
	// MaxMessageBytes is the largest frame. The Collector's receivers refuse requests of a fraction of that.
	MaxMessageBytes = 64 << 20
	// MaxFrameBytes is the largest frame after decompression, and the largest ResourceSpans of a message that is not
	// framed.
	MaxFrameBytes = 256 << 20
)
