package optrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// sink owns the writer of an exporter. Batches go out one at a time, each in
// one Write call, and what becomes of every entry is accounted for: it is
// written, or counted as dropped and told of by a gap record in the next batch
// that gets through.
//
// A write that got through in part leaves a line that was cut off, which a
// newline ends; in other formats, and compressed, only the rest of the batch
// can make it whole. That rest then goes first with the next batch.
type sink struct {
	target     target
	format     format
	compressor compressor // nil for none
	lines      bool       // a newline ends what was cut off

	// busy is held while a batch is written. It is a channel, not a mutex, so
	// that waiting for it ends with the context.
	busy chan struct{}
	// The following belong to whoever holds busy.
	writer   string
	sequence int64
	started  bool               // a header has been written
	resource attribute.Distinct // of the last record written
	torn     bool               // the last write ended within a line
	framing  framing
	packed   []byte // the batch compressed
	rest     *rest  // of the batch before, nil where it is whole
	breaker  breaker
	closed   bool

	gapMu sync.Mutex
	gaps  []op.Gap

	shutdownMissed atomic.Bool // Shutdown could not wait: whoever holds busy closes

	written, dropped, inFlight atomic.Uint64
	metrics                    *exporterMetrics
}

func newSink(t target, cfg config) (*sink, error) {
	c, err := newCompressor(cfg.compression)
	if err != nil {
		return nil, err
	}
	f := cfg.format.encoding()
	return &sink{
		target: t, format: f, compressor: c, lines: f.lines() && c == nil,
		busy: make(chan struct{}, 1), writer: newWriterID(),
	}, nil
}

// drop accounts for n entries that will not be written.
func (s *sink) drop(reason string, n uint64) {
	if n == 0 {
		return
	}
	s.dropped.Add(n)
	s.addGap(op.Gap{Reason: reason, Dropped: int64(n)})
}

func (s *sink) addGap(g op.Gap) {
	s.gapMu.Lock()
	defer s.gapMu.Unlock()
	for i := range s.gaps {
		if s.gaps[i].Reason == g.Reason {
			s.gaps[i].Dropped += g.Dropped
			return
		}
	}
	s.gaps = append(s.gaps, g)
}

func (s *sink) takeGaps() []op.Gap {
	s.gapMu.Lock()
	defer s.gapMu.Unlock()
	gaps := s.gaps
	s.gaps = nil
	return gaps
}

// acquire waits until the sink is free or ctx is done.
func (s *sink) acquire(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sink) release() {
	<-s.busy
	if s.shutdownMissed.Load() {
		s.closeNow()
	}
}

// submit writes b, which the caller hands over: recycle is called with it once
// it is known how many entries got through, by whoever then holds busy. It
// returns when the batch is written or ctx is done; in the latter case the
// write goes on, holding the sink, and its entries are accounted for when it
// ends.
//
// The caller holds busy, and submit releases it.
func (s *sink) submit(ctx context.Context, b *batch, recycle func(*batch)) error {
	o := s.begin(b, recycle)
	if ctx.Done() == nil {
		return s.writeAndRelease(o)
	}
	done := make(chan error, 1)
	go func() { done <- s.writeAndRelease(o) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// Both may be ready; the outcome of the write says more.
	select {
	case err := <-done:
		return err
	default:
		return ctx.Err()
	}
}

func (s *sink) writeAndRelease(o *outgoing) error {
	err := s.write(o)
	s.release()
	return err
}

// write writes o's batch.
func (s *sink) write(o *outgoing) error {
	if s.closed {
		s.settle(o, 0, "shutdown", ErrExporterShutdown)
		return ErrExporterShutdown
	}
	if !s.breaker.allows(time.Now()) {
		s.settle(o, 0, "write_failed", errBreakerOpen)
		return errBreakerOpen
	}
	if err := s.writeRest(); err != nil {
		s.breaker.failed(time.Now())
		err = fmt.Errorf("traces export: writing the rest of a batch: %w", err)
		s.settle(o, 0, "write_failed", err)
		return err
	}
	o.gaps = s.takeGaps()
	out, head, notice, err := s.assemble(o)
	n := 0
	if err == nil && len(out) > 0 {
		n, err = safeWrite(s.target, out)
	}
	if n > 0 {
		s.sequence++
	}
	if err != nil {
		s.breaker.failed(time.Now())
		err = fmt.Errorf("traces export: writing %d entries: %w", o.batch.entries, err)
		s.failed(o, out, head, n, err)
		return err
	}
	s.passed(o.batch)
	s.torn = false
	s.breaker.succeeded()
	s.settle(o, o.batch.entries, "", nil)
	return notice
}

// passed notes that b is what was last written.
func (s *sink) passed(b *batch) {
	s.started = true
	if !b.empty() {
		s.resource = b.last
	}
}

// assemble puts together what goes out for o and returns it with the length of
// what stands in front of the records. notice is an error that does not keep it
// from being written.
func (s *sink) assemble(o *outgoing) (out []byte, head int, notice, err error) {
	out, head = s.frame(o)
	if len(out) == 0 {
		return nil, 0, nil, nil
	}
	state, err := s.target.ready(len(out))
	if err != nil {
		if !isNotice(err) {
			return nil, 0, nil, err
		}
		notice = err
	}
	if state != sameFile {
		torn := state == tornInLine
		again := s.started || s.torn != torn
		s.started, s.torn = false, torn
		if again {
			out, head = s.frame(o)
		}
	}
	return out, head, errors.Join(notice, s.target.reserve(len(out))), nil
}

// frame returns the batch of o in its final form.
func (s *sink) frame(o *outgoing) (out []byte, head int) {
	s.framing = framing{
		writer: s.writer, sequence: s.sequence, gaps: o.gaps,
		header: !s.started || !o.batch.empty() && o.batch.first != s.resource,
		// The line that was cut off stays unreadable, but only that one.
		newline: s.torn && s.lines,
		scratch: s.framing.scratch[:0], tail: s.framing.tail,
	}
	out, head = s.format.frame(o.batch, &s.framing)
	if len(out) == 0 {
		return nil, 0
	}
	if s.compressor == nil {
		return out, head
	}
	s.packed = s.compressor.compress(s.packed[:0], out)
	return s.packed, 0
}

// failed looks at what a write that failed left behind, of which the writer
// says that n bytes of out got through. It accounts for the entries, or keeps
// the rest of the batch.
func (s *sink) failed(o *outgoing, out []byte, head, n int, err error) {
	known := n > 0 && n <= len(out)
	switch {
	case known && !s.lines && n < len(out):
		s.rest = &rest{outgoing: o, bytes: out[n:]}
		s.framing.scratch, s.packed = nil, nil // the rest may be in one of them
		s.passed(o.batch)                      // what follows will follow the whole of it
		return
	case known && !s.lines: // the whole batch, and an error all the same
		s.passed(o.batch)
		s.settle(o, o.batch.entries, "", err)
		return
	}
	complete := 0
	if known && n >= head {
		complete = s.format.complete(o.batch, out[head:n])
	} else {
		s.keepGaps(o)
	}
	// Writers that fail seldom count well; an empty line does no harm.
	s.torn = !known || out[n-1] != '\n'
	// The batch may have led to another resource; say anew whose records follow.
	s.started = false
	s.settle(o, complete, "write_failed", err)
}

// shutdown writes the last gaps and closes the writer. Where the sink is busy
// until ctx is done, the write under way closes it.
func (s *sink) shutdown(ctx context.Context) error {
	if err := s.acquire(ctx); err != nil {
		s.shutdownMissed.Store(true)
		select {
		case s.busy <- struct{}{}: // free at last: between the wait and the store
		default:
			return err
		}
	}
	// A context that was done before does not keep a file from closing.
	return await(ctx, lastFinish, func() error {
		err := s.finish()
		<-s.busy
		return err
	})
}

// lastFinish is how long a shutdown whose context is done still waits for the
// writer to take the last gaps and to close: a local file needs milliseconds.
const lastFinish = 100 * time.Millisecond

// closeNow is shutdown for a sink that shutdown found busy.
func (s *sink) closeNow() {
	select {
	case s.busy <- struct{}{}:
		_ = s.finish() // the caller of shutdown has gone
		<-s.busy
	default: // the next release does it
	}
}

// finish closes the sink. The caller holds busy.
func (s *sink) finish() error {
	if s.closed {
		return nil
	}
	var err error
	s.gapMu.Lock()
	pending := len(s.gaps) > 0 || s.rest != nil
	s.gapMu.Unlock()
	if pending {
		s.breaker = breaker{} // the last chance, whatever came before
		err = s.write(s.begin(newBatch(0), nil))
	}
	if s.rest != nil {
		s.giveUpRest(err)
	}
	s.closed = true
	return errors.Join(err, s.target.Close())
}

// safeWrite writes p and turns a panic of the writer into an error.
func safeWrite(w io.Writer, p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = 0, fmt.Errorf("writer panicked: %v", r)
		}
	}()
	n, err = w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
