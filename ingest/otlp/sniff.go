package otlp

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/internal/text/protobuf"
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
	// framePrefix is the size of the big-endian length in front of each frame.
	framePrefix = 4
	// frameHead is the size of a head for detection.
	frameHead = 24
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
