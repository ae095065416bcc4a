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
type sink struct {
	w      io.Writer
	close  func() error // nil where the writer is the caller's
	format format

	// busy is held while a batch is written. It is a channel, not a mutex, so
	// that waiting for it ends with the context.
	busy chan struct{}
	// The following belong to whoever holds busy.
	writer   string
	sequence int64
	started  bool               // a header has been written
	resource attribute.Distinct // of the last record written
	torn     bool               // the last write ended within a line
	out      []byte             // the batch as it goes out
	breaker  breaker
	closed   bool

	gapMu sync.Mutex
	gaps  []op.Gap

	shutdownMissed atomic.Bool // Shutdown could not wait: whoever holds busy closes

	written, dropped, inFlight atomic.Uint64
	metrics                    *exporterMetrics
}

func newSink(w io.Writer, closer func() error, f format) *sink {
	return &sink{w: w, close: closer, format: f, busy: make(chan struct{}, 1), writer: newWriterID()}
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
// nothing reads it any more. It returns when the batch is written or ctx is
// done; in the latter case the write goes on, holding the sink, and its
// entries are accounted for when it ends.
//
// The caller holds busy, and submit releases it.
func (s *sink) submit(ctx context.Context, b *batch, recycle func(*batch)) error {
	write := func() error {
		err := s.write(b)
		if recycle != nil {
			recycle(b)
		}
		s.release()
		return err
	}
	s.inFlight.Store(uint64(b.entries))
	if ctx.Done() == nil {
		return write()
	}
	done := make(chan error, 1)
	go func() { done <- write() }()
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

// write writes b, accounts for its entries and sets b.written.
func (s *sink) write(b *batch) (err error) {
	end := s.metrics.export(b.entries)
	defer func() { end(b.written, err) }()
	entries := uint64(b.entries)
	if s.closed {
		s.inFlight.Store(0)
		s.drop("shutdown", entries)
		return ErrExporterShutdown
	}
	if !s.breaker.allows(time.Now()) {
		s.inFlight.Store(0)
		s.drop("write_failed", entries)
		return errBreakerOpen
	}
	gaps := s.takeGaps()
	head := s.frame(b, gaps)
	n, err := safeWrite(s.w, s.out)
	s.inFlight.Store(0)
	if n > 0 {
		s.sequence++
	}
	if err == nil {
		s.started, s.torn = true, false
		if !b.empty() {
			s.resource = b.last
		}
		s.breaker.succeeded()
		s.written.Add(entries)
		b.written = b.entries
		return nil
	}
	s.breaker.failed(time.Now())
	complete := s.settle(b, n, head, gaps)
	s.written.Add(complete)
	b.written = int(complete)
	s.drop("write_failed", entries-complete)
	return fmt.Errorf("traces export: writing %d entries: %w", entries, err)
}

// frame puts together what goes out for b and returns the length of what
// stands in front of its records.
func (s *sink) frame(b *batch, gaps []op.Gap) (head int) {
	s.out = s.out[:0]
	if s.torn && s.format.lines() {
		// The line that was cut off stays unreadable, but only that one.
		s.out = append(s.out, '\n')
	}
	newline := len(s.out)
	s.out, head = s.format.frame(s.out, b, framing{
		writer: s.writer, sequence: s.sequence, gaps: gaps,
		header: !s.started || !b.empty() && b.first != s.resource,
	})
	return newline + head
}

// settle looks at what a failed write left behind, of which the writer says that
// n bytes got through: it returns how many entries did, and keeps the gaps that
// did not.
func (s *sink) settle(b *batch, n, head int, gaps []op.Gap) (complete uint64) {
	if n < head || n > len(s.out) {
		for _, g := range gaps {
			s.addGap(g)
		}
	} else {
		complete = uint64(s.format.complete(b, s.out[head:n]))
	}
	// Writers that fail seldom count well; an empty line does no harm.
	s.torn = n <= 0 || n > len(s.out) || s.out[n-1] != '\n'
	// The batch may have led to another resource; say anew whose records follow.
	s.started = false
	return complete
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
	finish := func() error {
		err := s.finish()
		<-s.busy
		return err
	}
	if ctx.Done() == nil {
		return finish()
	}
	done := make(chan error, 1)
	go func() { done <- finish() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// A context that was done before does not keep a file from closing.
	timer := time.NewTimer(lastFinish)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ctx.Err()
	}
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
	pending := len(s.gaps) > 0
	s.gapMu.Unlock()
	if pending && s.breaker.allows(time.Now()) {
		err = s.write(&batch{})
	}
	s.closed = true
	if s.close != nil {
		err = errors.Join(err, s.close())
	}
	return err
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
