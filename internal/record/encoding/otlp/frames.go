package otlp

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/text/protobuf"
)

const maxMessage = 64 << 20

// Recognize examines the first message, and compares its length with its content.
func (protoFormat) Recognize(head []byte) encoding.Origin {
	if len(head) < frameLengthBytes {
		if head[0] > maxMessage>>24 {
			return encoding.Foreign
		}
		return encoding.Own // a truncated length
	}
	length := int64(binary.BigEndian.Uint32(head))
	message := head[frameLengthBytes:]
	switch {
	case len(message) == 0 && length <= maxMessage:
		return encoding.Own
	case len(message) == 0:
		return encoding.Foreign
	case !startsLikeTraces(message):
		return withoutTag(message, length)
	}
	n, _, ok := resourceSpans(message)
	if length > maxMessage || ok && n > length {
		return encoding.Damaged
	}
	return encoding.Own
}

func withoutTag(message []byte, length int64) encoding.Origin {
	mended := bytes.Clone(message)
	mended[0] = protobuf.TracesResourceSpans<<3 | protobuf.Bytes
	if n, head, ok := resourceSpans(mended); ok && n <= length && int64(head) < n && head < len(mended) &&
		startsLikeTraces(mended) {
		return encoding.Damaged
	}
	return encoding.Foreign
}

// resourceSpans returns the length of the field at the start of text, and of its tag and length alone.
func resourceSpans(text []byte) (n int64, head int, ok bool) {
	if len(text) == 0 || text[0] != protobuf.TracesResourceSpans<<3|protobuf.Bytes {
		return 0, 0, false
	}
	size, width := binary.Uvarint(text[1:])
	if width <= 0 || size > maxMessage {
		return 0, 0, false
	}
	return int64(1+width) + int64(size), 1 + width, true
}

// startsLikeTraces reports whether text, which is not empty and may end anywhere, starts with nested fields of
// TracesData: the spans of a resource, and in them its attributes, a scope, or a URL.
func startsLikeTraces(text []byte) bool {
	n, head, ok := resourceSpans(text)
	if !ok {
		const longestHead = 1 + 4 // a message has fewer bytes than 2²⁸
		return len(text) < longestHead && text[0] == protobuf.TracesResourceSpans<<3|protobuf.Bytes
	}
	inner := text[head:]
	left := n - int64(head)
	if len(inner) == 0 || left == 0 {
		return true
	}
	switch inner[0] {
	case protobuf.ResourceSpansResource<<3 | protobuf.Bytes, protobuf.ResourceSpansScopeSpans<<3 | protobuf.Bytes,
		protobuf.ResourceSpansSchemaURL<<3 | protobuf.Bytes:
	default:
		return false
	}
	size, width := binary.Uvarint(inner[1:])
	if width <= 0 {
		return len(inner) < binary.MaxVarintLen32
	}
	if int64(size) > left-int64(1+width) {
		return false
	}
	if inner[0] != protobuf.ResourceSpansResource<<3|protobuf.Bytes || size == 0 || len(inner) == 1+width {
		return true
	}
	// Resource has attributes and the number of dropped ones.
	next := inner[1+width]
	return next == protobuf.ResourceAttributes<<3|protobuf.Bytes || next == protobuf.ResourceDroppedAttributes<<3|protobuf.Varint
}

// Whole goes from message to message while each has only resource spans.
func (protoFormat) Whole(r io.ReaderAt, from, size int64) (whole int64, err error) {
	whole = from
	for size-whole >= frameLengthBytes {
		var length [frameLengthBytes]byte
		if _, err := r.ReadAt(length[:], whole); err != nil {
			return from, err
		}
		start := whole + frameLengthBytes
		next := start + int64(binary.BigEndian.Uint32(length[:]))
		if next > size || next == start || next-start > maxMessage {
			return whole, nil
		}
		if ok, err := isTraces(r, start, next); !ok || err != nil {
			return whole, err
		}
		whole = next
	}
	return whole, nil
}

func isTraces(r io.ReaderAt, at, end int64) (bool, error) {
	for at < end {
		var buf [1 + binary.MaxVarintLen32]byte
		head := buf[:min(int64(len(buf)), end-at)]
		if _, err := r.ReadAt(head, at); err != nil {
			return false, err
		}
		n, _, ok := resourceSpans(head)
		if !ok {
			return false, nil
		}
		at += n
	}
	return at == end, nil
}
