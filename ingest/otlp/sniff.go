package otlp

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
)

// Framing is how OTLP stands in a file, apart from JSON that is not framed.
type Framing uint8

// The framings.
const (
	// FramingNone: not recognised.
	FramingNone Framing = iota
	// FramingRaw: a TracesData message, or one of another signal. See ProtoRecords.
	FramingRaw
	// FramingProto: length-prefixed frames of protobuf. See FramedRecords.
	FramingProto
	// FramingJSON: length-prefixed frames of JSON. See FramedRecords.
	FramingJSON
)

// maxFirstFrame keeps lengths apart from TracesData, which starts with 0x0a.
const maxFirstFrame = 0x09ffffff

// Sniff returns the framing of a file that starts with head.
func Sniff(head []byte) Framing {
	if looksLikeTraces(head) || looksLikeProfiles(head) {
		return FramingRaw
	}
	if len(head) <= framePrefix {
		return FramingNone
	}
	if size := binary.BigEndian.Uint32(head); size == 0 || size > maxFirstFrame {
		return FramingNone
	}
	payload := head[framePrefix:]
	if bytes.HasPrefix(payload, zstdMagic) {
		payload = firstBytes(payload)
	}
	switch {
	case len(payload) > 0 && payload[0] == '{':
		return FramingJSON
	case looksLikeTraces(payload), looksLikeProfiles(payload):
		return FramingProto
	}
	return FramingNone
}

// looksLikeTraces reports whether b may be the start of a TracesData message:
// its one field, with a field of ResourceSpans in it.
func looksLikeTraces(b []byte) bool {
	const tag = spans.FieldResourceSpans<<3 | spans.WireBytes
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
	case 1<<3 | spans.WireBytes, 2<<3 | spans.WireBytes, 3<<3 | spans.WireBytes: // resource, scope_spans, schema_url
		return true
	}
	return false
}

// firstBytes returns the first bytes of what a zstd frame holds, as far as the
// part of it that is there goes.
func firstBytes(frame []byte) []byte {
	z, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxFrameBytes))
	if err != nil {
		return nil
	}
	defer z.Close()
	first := make([]byte, 64)
	n, _ := z.Read(first) // what came counts, not why there is no more
	return first[:n]
}

// looksLikeProfiles reports whether b may be the start of a ProfilesData message that has its dictionary
// in front: lists of messages and of strings.
func looksLikeProfiles(b []byte) bool {
	if len(b) < 3 || b[0] != spans.FieldDictionary<<3|spans.WireBytes {
		return false
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size == 0 {
		return false
	}
	return spans.IsDictionary(b[1+n:], size)
}
