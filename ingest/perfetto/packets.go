package perfetto

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/op"
)

// packetReader reads the packets of a trace one after the other.
type packetReader struct {
	src  *bufio.Reader
	name string
	pos  int64 // in the file
	// start is where the packet starts that was read last, or the compressed one that it
	// stands in.
	start int64
	buf   bytes.Buffer
	// inner reads the packets of a compressed packet, nil outside of one.
	inner *bufio.Reader
	close func()
}

func newPacketReader(src io.Reader, name string) *packetReader {
	return &packetReader{src: bufio.NewReaderSize(src, 64<<10), name: name}
}

// errDone is the end of the packets.
var errDone = errors.New("no more packets")

// next returns the next packet, valid until the next call. A *[op.SyntaxError] of class
// [op.ErrorRecord] is about one packet, any other error ends the reading, errDone at the
// end of the file.
func (r *packetReader) next() ([]byte, error) {
	if r.inner != nil {
		packet, err := r.read(r.inner, false)
		if err == nil {
			return packet, nil
		}
		r.leave()
		if !errors.Is(err, errDone) {
			return nil, err
		}
	}
	return r.read(r.src, true)
}

// read reads a packet of the file, or of a compressed packet.
func (r *packetReader) read(src *bufio.Reader, outer bool) ([]byte, error) {
	if outer {
		r.start = r.pos
	}
	tag, err := r.varint(src, outer)
	if err != nil {
		return nil, err
	}
	if tag != tracePacket<<3|2 {
		return nil, r.damage(outer, fmt.Sprintf("expected a packet, found the tag %d", tag))
	}
	size, err := r.varint(src, outer)
	switch {
	case errors.Is(err, errDone):
		return nil, r.cut(outer)
	case err != nil:
		return nil, err
	case size > MaxPacketBytes:
		return nil, r.pass(src, outer, size)
	}
	r.buf.Reset()
	n, err := io.CopyN(&r.buf, src, int64(size)) // grows with what is there
	r.moved(outer, n)
	if err != nil {
		return nil, r.failed(outer, err)
	}
	return r.buf.Bytes(), nil
}

// pass passes over a packet that is too large.
func (r *packetReader) pass(src *bufio.Reader, outer bool, size uint64) error {
	if size>>62 != 0 {
		return r.damage(outer, fmt.Sprintf("a packet of %d bytes", size))
	}
	n, err := io.CopyN(io.Discard, src, int64(size))
	r.moved(outer, n)
	if err != nil {
		return r.failed(outer, err)
	}
	return r.recordError(fmt.Sprintf("a packet of %d bytes, more than %d", size, int64(MaxPacketBytes)))
}

// varint reads a number; errDone where there is nothing.
func (r *packetReader) varint(src *bufio.Reader, outer bool) (v uint64, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		c, err := src.ReadByte()
		if errors.Is(err, io.EOF) && shift == 0 {
			return 0, errDone
		}
		if err != nil {
			return 0, r.failed(outer, err)
		}
		r.moved(outer, 1)
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, r.damage(outer, "a number longer than 64 bits")
}

// moved notes that bytes of the file were read.
func (r *packetReader) moved(outer bool, n int64) {
	if outer {
		r.pos += n
	}
}

// failed returns the error of a source that failed or ended within a packet.
func (r *packetReader) failed(outer bool, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return r.cut(outer)
	case !outer:
		return r.recordError("compressed packets: " + err.Error())
	}
	return fmt.Errorf("reading trace: %w", err)
}

// cut returns the error of a source that ended within a packet.
func (r *packetReader) cut(outer bool) error {
	if !outer {
		return r.recordError("compressed packets end within a packet")
	}
	return &op.SyntaxError{File: r.name, Offset: r.pos, Msg: "the file ends within a packet", Truncated: true, Class: op.ErrorDamaged}
}

// damage returns the error of what is not a sequence of packets.
func (r *packetReader) damage(outer bool, msg string) error {
	if !outer {
		return r.recordError("compressed packets: " + msg)
	}
	return &op.SyntaxError{File: r.name, Offset: r.start, Msg: msg, Class: op.ErrorDamaged}
}

// recordError returns an error about the packet that was read last.
func (r *packetReader) recordError(msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: r.start, Msg: msg, Class: op.ErrorRecord}
}

// enter makes the packets of a compressed packet come next.
func (r *packetReader) enter(compressed []byte, isZstd bool) *op.SyntaxError {
	if r.inner != nil {
		return r.recordError("compressed packets within compressed packets")
	}
	src := bytes.NewReader(bytes.Clone(compressed))
	var expanded io.Reader
	if isZstd {
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxPacketBytes))
		if err != nil {
			return r.recordError("compressed packets: " + err.Error())
		}
		expanded, r.close = z, z.Close
	} else {
		z, err := zlib.NewReader(src)
		if err != nil {
			return r.recordError("compressed packets: " + err.Error())
		}
		expanded, r.close = z, func() { _ = z.Close() } // of memory
	}
	r.inner = bufio.NewReader(io.LimitReader(expanded, MaxCompressedBytes))
	return nil
}

// leave ends the reading of a compressed packet.
func (r *packetReader) leave() {
	if r.inner != nil {
		r.inner = nil
		r.close()
	}
}
