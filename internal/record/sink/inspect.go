package sink

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/op"
)

// errForeign is the error for a file of another format or compression. Nothing is appended to it.
var errForeign = errors.New("file has a different format or compression")

const headBytes = 64 << 10

// Inspect returns a function that examines files of a format and compression.
func Inspect(f encoding.Format, c Compression) rotate.Inspect {
	return inspector{f, c}.inspect
}

type inspector struct {
	format      encoding.Format
	compression Compression
}

func (c inspector) inspect(f io.ReaderAt, from, size int64) (end rotate.Ending, whole int64, err error) {
	if from == size {
		return rotate.EndsWhole, size, nil
	}
	if from == 0 {
		if end, err = c.inspectHead(f, size); end != rotate.EndsWhole || err != nil {
			return end, 0, err
		}
	}
	if c.compression != None {
		return c.inspectCompressed(f, from, size)
	}
	if messages, ok := c.format.(encoding.Messages); ok {
		if whole, err = messages.Whole(f, from, size); err == nil && whole < size {
			end = rotate.EndsDamaged
		}
		return end, whole, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return 0, from, err
	}
	if last[0] != '\n' {
		return rotate.EndsInLine, from, nil
	}
	return rotate.EndsWhole, size, nil
}

func (c inspector) inspectHead(f io.ReaderAt, size int64) (rotate.Ending, error) {
	head := make([]byte, min(size, headBytes))
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, err
	}
	if magic := c.compression.magic(); len(magic) > 0 {
		if n := min(len(head), len(magic)); !bytes.Equal(head[:n], magic[:n]) {
			return 0, fmt.Errorf("%w: it is not compressed with %v", errForeign, c.compression)
		}
		return c.inspectStart(bytes.NewReader(head))
	}
	for _, other := range []Compression{Gzip, Zstd} {
		if bytes.HasPrefix(head, other.magic()) {
			return 0, fmt.Errorf("%w: it is compressed with %v", errForeign, other)
		}
	}
	return c.judge(head)
}

func (c inspector) inspectStart(src io.Reader) (rotate.Ending, error) {
	plain, err := c.compression.decompress(src)
	if err != nil {
		return rotate.EndsDamaged, nil
	}
	defer func() { _ = plain.Close() }() // it was only read
	start := make([]byte, headBytes)
	n, _ := io.ReadFull(plain, start)
	if n == 0 {
		return rotate.EndsWhole, nil // inspectCompressed decides
	}
	return c.judge(start[:n])
}

func (c inspector) judge(head []byte) (rotate.Ending, error) {
	switch c.format.Recognize(head) {
	case encoding.Own:
		return rotate.EndsWhole, nil
	case encoding.Damaged:
		return rotate.EndsDamaged, nil
	}
	return 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.Name())
}

// inspectCompressed reads the file from a block's beginning to its end: only reading finds the ends of blocks.
func (c inspector) inspectCompressed(f io.ReaderAt, from, size int64) (end rotate.Ending, whole int64, err error) {
	// An error of the file itself must not pass for an incomplete block.
	file := &errorKeeper{src: io.NewSectionReader(f, from, size-from)}
	plain, err := c.compression.decompress(bufio.NewReader(file))
	if err != nil {
		return rotate.EndsDamaged, from, file.err
	}
	defer func() { _ = plain.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return rotate.EndsDamaged, from, file.err
	}
	return rotate.EndsWhole, size, file.err
}

type errorKeeper struct {
	src io.Reader
	err error
}

func (k *errorKeeper) Read(p []byte) (int, error) {
	n, err := k.src.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}

// Compression is the compression of batches.
type Compression uint8

// The compressions.
const (
	None Compression = iota
	Gzip
	Zstd
)

var compressions = [...]struct{ name, magic string }{None: {name: "none"}, Gzip: {"gzip", "\x1f\x8b"},
	Zstd: {"zstd", "\x28\xb5\x2f\xfd"}}

// String returns the name of the compression.
func (c Compression) String() string {
	if int(c) < len(compressions) {
		return compressions[c].name
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

type compressor func(dst, batch []byte) []byte

// newCompressor returns nil for no compression. It uses the fastest levels: better ones gain little.
func newCompressor(c Compression) (compressor, error) {
	switch c {
	case None:
		return nil, nil
	case Gzip:
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return func(dst, batch []byte) []byte {
			out := bytes.NewBuffer(dst)
			w.Reset(out)
			_, _ = w.Write(batch) // a buffer takes everything
			_ = w.Close()
			return out.Bytes()
		}, err
	case Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		return func(dst, batch []byte) []byte { return e.EncodeAll(batch, dst) }, err
	}
	return nil, fmt.Errorf("unknown compression %d", c)
}

func (c Compression) magic() []byte { return []byte(compressions[c].magic) }

// decompress returns a reader of the content of src. The caller closes it.
func (c Compression) decompress(src io.Reader) (io.ReadCloser, error) {
	if c == Gzip {
		return gzip.NewReader(src)
	}
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

const attempts = 5

// writeRetrying writes p. It tries again after a temporary error without a written byte.
func writeRetrying(w io.Writer, p []byte) (n int, err error) {
	pause := time.Millisecond
	for range attempts - 1 {
		n, err = writeRecovering(w, p)
		if n != 0 || !isTemporary(err) {
			return n, err
		}
		time.Sleep(pause)
		pause *= 2
	}
	return writeRecovering(w, p)
}

func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

func writeRecovering(w io.Writer, p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			n = 0
			err = fmt.Errorf("writer panicked: %v", r)
		}
	}()
	n, err = w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// Await runs f and returns its error. It leaves f running when grace has passed after the end of ctx.
func Await(ctx context.Context, grace time.Duration, f func() error) error {
	if ctx.Done() == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ctx.Err()
	}
}

// breaker allows one attempt per pause after maxFailures failures in a row. The pause doubles with each failure.
type breaker struct {
	failures int
	pause    time.Duration
	retryAt  time.Time
}

const (
	maxFailures = 5
	firstPause  = time.Second
	longPause   = 30 * time.Second
)

var errBreakerOpen = errors.New("traces export: not writing, the last writes failed")

func (b *breaker) failed(now time.Time) {
	b.failures++
	if b.failures < maxFailures {
		return
	}
	b.pause = min(max(firstPause, 2*b.pause), longPause)
	b.retryAt = now.Add(b.pause)
}

type inflight struct {
	batch    *encoding.Batch
	gaps     []op.Gap // the losses written with it
	recycle  func(*encoding.Batch)
	observed func(exported int, err error)
}

type remainder struct {
	*inflight
	bytes []byte
}

// begin counts b's entries as under way until account is called. recycle may be nil.
func (s *Sink) begin(b *encoding.Batch, recycle func(*encoding.Batch)) *inflight {
	s.underway.Add(uint64(b.Entries))
	s.shortened.Add(uint64(b.Shortened))
	return &inflight{batch: b, recycle: recycle, observed: s.metrics.Export(b.Entries)}
}

func (s *Sink) account(o *inflight, written int, reason string, err error) {
	b := o.batch
	b.Written = written
	s.underway.Add(-uint64(b.Entries))
	s.written.Add(uint64(written))
	s.Drop(reason, uint64(b.Entries-written))
	o.observed(written, err)
	if o.recycle != nil {
		o.recycle(b)
	}
}

// keepGaps leaves o's losses to the next batch, except those in head, which was written.
func (s *Sink) keepGaps(o *inflight, head []byte) {
	for _, g := range o.gaps {
		if !bytes.Contains(head, g.AppendJSON(nil)) {
			s.addGap(g)
		}
	}
}

var errTakenAway = errors.New("the file with its beginning is gone")

// writeRemainder writes the remainder of the batch before. lost is the error for one that cannot be completed.
func (s *Sink) writeRemainder() (lost, err error) {
	if s.remainder == nil {
		return nil, nil
	}
	same, err := s.target.Continue()
	if err == nil && !same {
		err = errTakenAway
	}
	if err != nil {
		err = fmt.Errorf("traces export: the rest of %d entries: %w", s.remainder.batch.Entries, err)
		s.abandonRemainder(err)
		return err, nil
	}
	n, err := writeRetrying(s.target, s.remainder.bytes)
	if err != nil && n != len(s.remainder.bytes) { // a writer may take all bytes and fail
		if 0 < n && n < len(s.remainder.bytes) {
			s.remainder.bytes = s.remainder.bytes[n:]
		}
		return nil, err
	}
	o := s.remainder.inflight
	s.remainder = nil
	s.account(o, o.batch.Entries, "", nil)
	return nil, nil
}

func (s *Sink) abandonRemainder(err error) {
	o := s.remainder.inflight
	s.remainder = nil
	s.started = false // the next record is not behind this batch
	s.keepGaps(o, nil)
	s.account(o, 0, "write_failed", err)
}
