package otlp

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
)

// frameHead is how much of a frame tells that it is one.
const frameHead = 24

// SniffDamaged returns the framing of a file that has frames in text, its beginning or,
// with atEnd, all of it, but does not start with one.
func SniffDamaged(text []byte, atEnd bool) Framing {
	for at := range max(0, len(text)-framePrefix) {
		if !beginsFrame(text[at:]) {
			continue
		}
		next := int64(at) + framePrefix + int64(binary.BigEndian.Uint32(text[at:]))
		follows := atEnd && next == int64(len(text)) || next+frameHead <= int64(len(text)) && beginsFrame(text[next:])
		if !follows {
			continue
		}
		if framing := Sniff(text[at:]); framing != FramingNone {
			return framing
		}
	}
	return FramingNone
}

// startsFrame reports whether text, which may end within it, is the start of a frame: of
// an empty one, or of one of JSON, of spans in protobuf or of zstd.
func startsFrame(text []byte) bool {
	if len(text) < framePrefix {
		return false
	}
	return binary.BigEndian.Uint32(text) == 0 || beginsFrame(text)
}

// beginsFrame is startsFrame for frames that are not empty.
func beginsFrame(text []byte) bool {
	if len(text) < framePrefix || text[0] > MaxMessageBytes>>24 {
		return false
	}
	size := int64(binary.BigEndian.Uint32(text))
	if size == 0 || size > MaxMessageBytes {
		return false
	}
	payload := text[framePrefix:]
	payload = payload[:min(size, int64(len(payload)))]
	return len(payload) == 0 || beginsJSON(payload) || beginsZstd(payload) || beginsTraces(payload, size)
}

func beginsJSON(payload []byte) bool {
	return payload[0] == '{' && (len(payload) == 1 || bytes.IndexByte([]byte("\"} \t\r\n"), payload[1]) >= 0)
}

func beginsZstd(payload []byte) bool {
	n := min(len(payload), len(zstdMagic))
	return bytes.Equal(payload[:n], zstdMagic[:n])
}

// beginsTraces reports whether a payload of a size starts with a message of its first
// field, which fits.
func beginsTraces(payload []byte, size int64) bool {
	const tag = spans.FieldResourceSpans<<3 | spans.WireBytes
	if payload[0] != tag {
		return false
	}
	length, n := binary.Uvarint(payload[1:])
	switch {
	case n < 0:
		return false
	case n == 0 || 1+n == len(payload):
		return int64(len(payload)) < size // they are not all there
	}
	return length <= uint64(size-int64(1+n)) && (length == 0 || looksLikeTraces(payload))
}

// isWhole reports whether a payload ends where its content does.
func isWhole(payload []byte) bool {
	switch {
	case len(payload) == 0:
		return true
	case beginsJSON(payload):
		return bytes.HasSuffix(bytes.TrimRight(payload, " \t\r\n"), []byte("}"))
	case beginsZstd(payload):
		return isZstdFrame(payload)
	}
	return spans.IsWhole(payload)
}

// isZstdFrame reports whether text is a zstd frame from its start to its end, as far as the
// sizes in it tell.
func isZstdFrame(text []byte) bool {
	const (
		blockHeader = 3
		typeRLE     = 1
		checksum    = 4
	)
	var h zstd.Header
	if h.Decode(text) != nil || h.Skippable {
		return false
	}
	for at, last := h.HeaderSize, false; ; {
		if last {
			if h.HasCheckSum {
				at += checksum
			}
			return at == len(text)
		}
		if len(text)-at < blockHeader {
			return false
		}
		block := int(text[at]) | int(text[at+1])<<8 | int(text[at+2])<<16
		last = block&1 != 0
		at += blockHeader
		if size := block >> 3; block>>1&3 == typeRLE {
			at++
		} else {
			at += size
		}
	}
}

// scanBytes is how much is looked at a time for a frame.
const scanBytes = 64 << 10

// nextFrame goes to the next frame that another one follows, or the end of the input. What
// it passes over is returned as far as it may be a frame's payload.
func nextFrame(in *input) (passed []byte, found bool, err error) {
	for {
		text := in.peek(scanBytes)
		n := len(text)
		for at := range n {
			if !beginsFrame(text[at:]) {
				continue
			}
			next := at + framePrefix + int(binary.BigEndian.Uint32(text[at:]))
			text = in.peek(max(next+frameHead, len(text)))
			if len(text) == next || len(text) > next && beginsFrame(text[next:]) {
				n, found = at, true
				break
			}
		}
		end := found || n < scanBytes
		if !end {
			n -= frameHead // which may be within a frame's start
		}
		piece, _ := in.take(n)
		passed = append(passed, piece[:min(n, MaxMessageBytes-len(passed))]...)
		if in.err != nil && in.err != io.EOF && len(in.peek(1)) == 0 {
			return passed, found, in.err
		}
		if end {
			return passed, found, nil
		}
	}
}
