package otlp

import (
	"bytes"
	"encoding/binary"
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

// FramedRecords reads the frames of the Collector's file exporter: a length in 4 bytes, then a batch in protobuf or
// JSON, each possibly compressed with zstd. name names src in errors; m maps attribute keys to fields, nil by the
// conventions.
func FramedRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewFrameReader(m, FramingProto).Records(src, name, op.Position{})
}

// ProtoRecords is FramedRecords for one TracesData message. Several messages in a row are one in protobuf.
func ProtoRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewFrameReader(m, FramingRaw).Records(src, name, op.Position{})
}

// FrameReader reads several files or parts of files, one after the other. It keeps its buffers, strings and attribute
// keys. It is not safe for concurrent use.
//
// After a damaged frame it goes on with the next frame. If the length may be damaged, it looks for two frames in a row,
// or a frame at the end of the input. A message without frames offers no such place.
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

// NewFrameReader returns a reader; m maps attribute keys to fields, nil by the conventions.
func NewFrameReader(m *attr.Mapping, f Framing) *FrameReader {
	d := spans.New(m)
	return &FrameReader{Decoder: d, framing: f, proto: spans.NewProto(d), json: newJSONReader(d),
		held: attrmap.Account(m)}
}

// Records reads src. It starts with a frame at a position of the file called name. A *bytes.Buffer is read without a
// copy.
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

// CutFrames returns the length of the whole frames at the start of text, up to a damaged one. The text behind them must
// look like a frame.
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

func (r *FrameReader) frame() (more bool) {
	in := &r.in
	start := in.Offset + int64(in.pos)
	head, size, err := r.extent()
	text := in.peek(head + size)
	missing := head + size - len(text)
	switch {
	case in.Err != nil && in.Err != io.EOF && (err != nil || missing > 0):
		return false // Records reports the error
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

// extent returns the sizes of the next frame's head and content. The error is io.EOF at the end of the input.
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

// resume goes to the next frame followed by another frame or by the end of the input, and reports whether there is one.
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

func (r *FrameReader) batch(start int64, content []byte) (ok bool) {
	if r.framing != FramingRaw && bytes.HasPrefix(content, zstdMagic) {
		if err := r.decompress(content); err != nil {
			r.Emit(op.Record{}, r.damage(start, "frame is not valid zstd: "+err.Error(), op.ErrorDamaged))
			return false
		}
		content = r.plain
	}
	// A message may start with "\n{": no white space in front of JSON.
	if len(content) > 0 && content[0] == '{' {
		return r.batchOfJSON(start+framePrefix, content)
	}
	if err := r.proto.ReadTraces(content); err != nil {
		r.Emit(op.Record{}, r.damage(start, err.Error(), op.ErrorSyntax))
		return false
	}
	return true
}

func (r *FrameReader) batchOfJSON(at int64, content []byte) (ok bool) {
	yield := r.Yield
	defer func() { r.Yield = yield }()
	r.json.start(func(rec op.Record, err error) bool { // frames are independent
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

// decompress decompresses a frame to plain. It reserves the memory first: the frame's stated size, and more if that
// does not suffice.
func (r *FrameReader) decompress(content []byte) error {
	if r.zstd == nil {
		// NewReader cannot fail with these options. Without a stream, the decoder needs no Close.
		r.zstd, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(minPlain))
		r.plain = make([]byte, 0, minPlain)
	}
	var head zstd.Header
	_ = head.Decode(content) // DecodeAll reports errors
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

const minPlain = 256 << 10

func (r *FrameReader) damage(start int64, msg string, class op.ErrorClass) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: start, Msg: msg, Class: class}
}

type input struct {
	lineio.Buffer
	pos int // in Text
}

func (in *input) reset(src io.Reader, offset int64) {
	in.Reset(src, offset)
	in.pos = 0
}

// peek returns the next n bytes, valid until the next call, or fewer at the end of the input. It allocates for the
// existing bytes, not for n.
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

// The limits of held data.
const (
	// MaxElementBytes is the longest span, resource or scope in JSON. It also limits how far a resource or scope may
	// follow its spans; known writers put it in front.
	MaxElementBytes = 16 << 20
	// MaxMessageBytes is the largest frame. The Collector's receivers refuse much smaller requests.
	MaxMessageBytes = 64 << 20
	// MaxFrameBytes is the largest frame after decompression, and the largest ResourceSpans of a message without
	// frames.
	MaxFrameBytes = 256 << 20
)

// Framing is the form of OTLP in a file, except for plain JSON.
type Framing uint8

// The framings.
const (
	// FramingNone: unknown.
	FramingNone Framing = iota
	// FramingRaw: a TracesData message, or a message of another signal. A frame is a field of the message.
	FramingRaw
	// FramingProto: length-prefixed frames of protobuf.
	FramingProto
	// FramingJSON: length-prefixed frames of JSON.
	FramingJSON
)

const (
	framePrefix = 4  // the size of the big-endian length in front of each frame
	frameHead   = 24 // the size of a head for detection
	// maxFirstFrame separates lengths from TracesData messages, which start with 0x0a.
	maxFirstFrame = 0x09ffffff
)

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// extent returns the sizes of the head and the content of the frame at the start of text. A field's tag and length
// belong to its content. The error is protobuf.ErrEnd if text is too short.
func (f Framing) extent(text []byte) (head, size int, err error) {
	if f == FramingRaw {
		size, err = protobuf.FieldSize(text)
		return 0, size, err
	}
	if len(text) < framePrefix {
		return 0, 0, protobuf.ErrEnd
	}
	return framePrefix, int(min(binary.BigEndian.Uint32(text), math.MaxInt32)), nil
}

// begins reports whether text, a frame's head or the end of the input, starts a non-empty frame.
func (f Framing) begins(text []byte) bool {
	if f == FramingRaw {
		return looksLikeTraces(text) || looksLikeProfiles(text)
	}
	if len(text) <= framePrefix {
		return false
	}
	size := binary.BigEndian.Uint32(text)
	content := text[framePrefix:]
	content = content[:min(len(content), int(min(size, maxFirstFrame)))]
	return 0 < size && size <= maxFirstFrame &&
		(bytes.HasPrefix(content, zstdMagic) || framingOf(content) != FramingNone)
}

// framingOf returns the framing of frames with such content.
func framingOf(content []byte) Framing {
	switch {
	case len(content) > 1 && content[0] == '{' && bytes.IndexByte([]byte("\"} \t\r\n"), content[1]) >= 0:
		return FramingJSON
	case looksLikeTraces(content), looksLikeProfiles(content):
		return FramingProto
	}
	return FramingNone
}

// Sniff returns the framing of a file that starts with head, FramingNone for a head of empty messages alone: a Perfetto
// trace may start so, too.
func Sniff(head []byte) Framing {
	if FramingRaw.begins(cutEmpty(head)) {
		return FramingRaw
	}
	if !FramingProto.begins(head) {
		return FramingNone
	}
	content := head[framePrefix:]
	if bytes.HasPrefix(content, zstdMagic) {
		content = firstBytes(content)
	}
	return framingOf(content)
}

// cutEmpty returns head without the empty ResourceSpans at its start.
func cutEmpty(head []byte) []byte {
	for {
		c := protobuf.Cursor{Buf: head}
		if !c.Next() || c.Field != protobuf.TracesResourceSpans || c.Type != protobuf.Bytes || c.Varint() != 0 ||
			c.Err != nil {
			return head
		}
		head = head[c.Pos:]
	}
}

// SniffDamaged returns the framing of a file with a damaged beginning, text, and frames behind the damage.
func SniffDamaged(text []byte) Framing {
	r := FrameReader{framing: FramingProto}
	r.in.reset(bytes.NewBuffer(text), 0)
	if !r.resume() {
		return FramingNone
	}
	return Sniff(text[r.in.pos:])
}

// looksLikeTraces reports whether b may be the start of a TracesData message: its one field with a field of
// ResourceSpans in it.
func looksLikeTraces(b []byte) bool {
	const tag = protobuf.TracesResourceSpans<<3 | protobuf.Bytes
	if len(b) < 2 || b[0] != tag {
		return false
	}
	size, n := binary.Uvarint(b[1:])
	switch {
	case n <= 0:
		return false
	case size == 0:
		return 1+n == len(b) || b[1+n] == tag
	case 1+n >= len(b):
		return false
	}
	switch b[1+n] {
	case 1<<3 | protobuf.Bytes, 2<<3 | protobuf.Bytes, 3<<3 | protobuf.Bytes: // resource, scope_spans, schema_url
		return true
	}
	return false
}

// looksLikeProfiles reports whether b may be the start of a ProfilesData message with its dictionary in front: lists of
// messages and strings.
func looksLikeProfiles(b []byte) bool {
	if len(b) < 3 || b[0] != protobuf.ProfilesDictionary<<3|protobuf.Bytes {
		return false
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size == 0 {
		return false
	}
	return spans.IsDictionary(b[1+n:], size)
}

func firstBytes(frame []byte) []byte {
	z, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxFrameBytes))
	if err != nil {
		return nil
	}
	defer z.Close()
	first := make([]byte, 64)
	n, _ := z.Read(first) // the frame is cut: ignore the error
	return first[:n]
}
