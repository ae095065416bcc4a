package perfetto

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

type packetReader struct {
	src   *bufio.Reader
	name  string
	pos   int64 // in the file
	start int64 // of the last packet
	buf   bytes.Buffer
}

var errDone = errors.New("no more packets")

// next returns the next packet, valid until the next call. A *[op.SyntaxError] of class [op.ErrorRecord] is about one
// packet. Any other error ends the reading, errDone at the end of the file.
func (r *packetReader) next() ([]byte, error) {
	r.start = r.pos
	tag, err := r.varint()
	if err != nil {
		return nil, err
	}
	if tag != packetTag {
		return nil, r.damage(fmt.Sprintf("expected a packet, found the tag %d", tag))
	}
	size, err := r.varint()
	switch {
	case errors.Is(err, errDone):
		return nil, r.failed(io.EOF)
	case err != nil:
		return nil, err
	case size>>62 != 0:
		return nil, r.damage(fmt.Sprintf("a packet of %d bytes", size))
	}
	r.buf.Reset()
	to := io.Writer(&r.buf) // grows with the existing bytes
	if size > MaxPacketBytes {
		to = io.Discard
	}
	n, err := io.CopyN(to, r.src, int64(size))
	r.pos += n
	switch {
	case err != nil:
		return nil, r.failed(err)
	case size > MaxPacketBytes:
		return nil, r.recordError(fmt.Sprintf("a packet of %d bytes, more than %d", size, int64(MaxPacketBytes)))
	}
	return r.buf.Bytes(), nil
}

// varint reads a varint; errDone at the end of the file.
func (r *packetReader) varint() (v uint64, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		c, err := r.src.ReadByte()
		if errors.Is(err, io.EOF) && shift == 0 {
			return 0, errDone
		}
		if err != nil {
			return 0, r.failed(err)
		}
		r.pos++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, r.damage("a number longer than 64 bits")
}

// failed returns the error of a source that failed or ended within a packet.
func (r *packetReader) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &op.SyntaxError{File: r.name, Offset: r.pos, Msg: "the file ends within a packet", Truncated: true,
			Class: op.ErrorDamaged}
	}
	return fmt.Errorf("reading trace: %w", err)
}

// damage returns the error of data other than packets.
func (r *packetReader) damage(msg string) error {
	return &op.SyntaxError{File: r.name, Offset: r.start, Msg: msg, Class: op.ErrorDamaged}
}

func (r *packetReader) recordError(msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: r.start, Msg: msg, Class: op.ErrorRecord}
}

const packetTag = tracePacket<<3 | protobuf.Bytes

// expand returns the packets in a compressed packet, up to MaxCompressedBytes. An error concerns the data behind them.
func expand(compressed []byte, isZstd bool) (packets []byte, err error) {
	var src io.Reader
	if isZstd {
		z, err := zstd.NewReader(bytes.NewReader(compressed), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxPacketBytes))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		src = z
	} else {
		z, err := zlib.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return nil, err
		}
		src = z
	}
	return io.ReadAll(io.LimitReader(src, MaxCompressedBytes))
}

type packet struct {
	timestamp    uint64
	hasTimestamp bool
	clock        uint64 // of the timestamp, 0 if missing
	sequence     uint64
	cleared      bool // the state of the sequence is new
	needsState   bool
	dropped      bool // packets of the sequence before this one are missing

	// The messages in it, nil if missing.
	event, interned, defaults, snapshot, compressed, zstd []byte
	descriptor, stage, counter                            []byte
	// isMetadata is set for a message about the trace or its writers, other for an unknown one.
	isMetadata, other bool
}

func parsePacket(b []byte, bad *bool) (p packet) {
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case packetTimestamp:
			p.timestamp = f.n
			p.hasTimestamp = f.data == nil
		case packetTimestampClock:
			p.clock = f.n
		case packetSequenceID:
			p.sequence = f.n
		case packetSequenceFlags:
			p.cleared = p.cleared || f.n&stateCleared != 0
			p.needsState = f.n&needsState != 0
		case packetCleared:
			p.cleared = p.cleared || f.n != 0
		case packetDropped:
			p.dropped = f.n != 0
		case packetTrackEvent:
			p.event = f.data
		case packetInternedData:
			p.interned = f.data
		case packetDefaults:
			p.defaults = f.data
		case packetClockSnapshot:
			p.snapshot = f.data
		case packetTrackDescriptor:
			p.descriptor = f.data
		case packetRenderStage:
			p.stage = f.data
		case packetGPUCounter:
			p.counter = f.data
		case packetOldProcess, packetOldThread, packetTraceConfig, packetTraceStats, packetSyncMarker, packetSystemInfo,
			packetServiceEvent, packetExtension, packetTraceUUID:
			p.isMetadata = true
		case packetCompressed:
			p.compressed = f.data
		case packetZstd:
			p.zstd = f.data
		default:
			p.other = p.other || f.data != nil
		}
	}
	return p
}

// The limits of held data.
const (
	// MaxPacketBytes is the largest packet. A larger one is skipped and reported.
	MaxPacketBytes = 16 << 20
	// MaxAnnotationBytes bounds the annotations of a slice as text; interned names can make them long.
	MaxAnnotationBytes = 16 << 20
	// MaxCompressedBytes bounds the packets in a compressed packet. The schema has 512 KiB.
	MaxCompressedBytes = 16 << 20
)

// maxDepth bounds the depth of annotations. Deeper values are null.
const maxDepth = 32

const maxParents = 16

// Sniff reports whether a file that starts with head is a trace. The first packet with a field that only packets have
// decides: it must be well formed and have the schema's types, and so must all packets before it. Other messages, such
// as OTLP's, start with the same tag and lack such a field.
func Sniff(head []byte) bool {
	for rest := head; len(rest) > 1; {
		if rest[0] != packetTag {
			return false
		}
		c := protobuf.Cursor{Buf: rest, Pos: 1}
		size := c.Varint()
		if c.Err != nil {
			return false
		}
		packet := rest[c.Pos:]
		isWhole := size <= uint64(len(packet))
		if isWhole {
			packet, rest = packet[:size], packet[size:]
		}
		telling, ok := tells(packet)
		if telling || !ok || !isWhole {
			return telling && (ok || !isWhole)
		}
	}
	return false
}

const maxField = 2000 // above the numbers of all fields of a packet

// tells reports whether a packet has a field that only packets have. ok is false for a packet that is malformed or has
// a field of another type than the schema's.
func tells(packet []byte) (telling, ok bool) {
	bad := false
	f := fieldsOf(packet, &bad)
	for ok = true; ok && f.next(); {
		isNumber := f.data == nil
		switch f.Field {
		case packetTimestamp, packetTimestampClock, packetSequenceID, packetSequenceFlags, packetCleared, packetDropped:
			telling = true
			ok = isNumber
		case packetTrustedUID, packetTrustedPID, packetFirst, packetMachine:
			ok = isNumber
		case packetTrackEvent, packetTrackDescriptor, packetInternedData, packetDefaults, packetClockSnapshot,
			packetOldProcess, packetGPUCounter, packetRenderStage, packetOldThread, packetCompressed, packetZstd:
			telling = true
			ok = !isNumber
		default:
			ok = !isNumber && f.Field < maxField
		}
	}
	return telling && ok, ok && !bad
}
