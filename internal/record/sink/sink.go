// Package sink writes the batches of an exporter to one writer, one at a time, and accounts for every entry: it is
// written, or it counts as dropped and a gap record in the next batch reports it. A Sink compresses, recovers from
// partial writes, and pauses after repeated failures.
package sink

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// ErrShutdown is returned after Shutdown.
var ErrShutdown error = shutdownError{}

type shutdownError struct{}

func (shutdownError) Error() string     { return "optrace: exporter is shut down" }
func (shutdownError) ErrorType() string { return "already_shutdown" } // for metrics

// Sink owns the writer of an exporter. It writes batches one at a time, each in one Write call.
//
// A partial write leaves an incomplete line, and a newline ends it. In other formats, and under compression, the sink
// writes the remainder of the batch before the next batch.
type Sink struct {
	target     Target
	format     encoding.Format
	compressor compressor     // nil for none
	lines      encoding.Lines // the format, if a newline ends an incomplete record

	busy chan struct{} // held while a batch is written
	// The following belong to the holder of busy.
	writer    string
	sequence  int64
	started   bool               // a header has been written
	resource  attribute.Distinct // of the last record written
	torn      bool               // the last write ended within a line
	framing   encoding.Framing
	packed    []byte     // the batch compressed
	remainder *remainder // of the batch before, nil if complete
	breaker   breaker
	closed    bool

	gapMu sync.Mutex
	gaps  []op.Gap

	shutdownMissed atomic.Bool // Shutdown could not wait: the holder of busy closes

	written, dropped, underway, shortened atomic.Uint64
	metrics                               *observ.Exporter
}

// New returns a Sink that writes batches of format f, compressed with c, to t.
func New(t Target, f encoding.Format, c Compression, m *observ.Exporter) (*Sink, error) {
	z, err := newCompressor(c)
	if err != nil {
		return nil, err
	}
	var id [6]byte // unique among exporters and processes
	_, _ = rand.Read(id[:])
	s := &Sink{target: t, format: f, compressor: z, metrics: m, busy: make(chan struct{}, 1),
		writer: hex.EncodeToString(id[:])}
	if z == nil {
		s.lines, _ = f.(encoding.Lines)
	}
	return s, nil
}

// Stats counts entries.
type Stats struct {
	Written, Dropped uint64
	Underway         uint64 // being written
	Shortened        uint64 // with texts cut
}

// Stats returns the counts so far.
func (s *Sink) Stats() Stats {
	return Stats{
		Written: s.written.Load(), Dropped: s.dropped.Load(), Underway: s.underway.Load(),
		Shortened: s.shortened.Load(),
	}
}

// Drop counts n entries as dropped.
func (s *Sink) Drop(reason string, n uint64) {
	if n == 0 {
		return
	}
	s.dropped.Add(n)
	s.addGap(op.Gap{Reason: reason, Dropped: int64(n)})
}

func (s *Sink) addGap(g op.Gap) {
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

func (s *Sink) takeGaps() []op.Gap {
	s.gapMu.Lock()
	defer s.gapMu.Unlock()
	gaps := s.gaps
	s.gaps = nil
	return gaps
}

// Refuse observes a batch of n spans after Shutdown.
func (s *Sink) Refuse(n int) { s.metrics.Export(n)(0, ErrShutdown) }

// Acquire waits until the sink is free or ctx is done.
func (s *Sink) Acquire(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return waited(ctx)
	}
}

func waited(ctx context.Context) error {
	return fmt.Errorf("traces export: waiting for the writer: %w", ctx.Err())
}

// Release frees the sink.
func (s *Sink) Release() {
	<-s.busy
	if !s.shutdownMissed.Load() {
		return
	}
	select {
	case s.busy <- struct{}{}:
		_ = s.finish() // the caller of Shutdown is gone
		<-s.busy
	default: // the next Release does it
	}
}

// Submit writes b and releases the acquired sink. It calls recycle with b when the number of written entries is known,
// from the goroutine that holds the sink. If ctx is done first, the write goes on and accounts for its entries at its
// end.
func (s *Sink) Submit(ctx context.Context, b *encoding.Batch, recycle func(*encoding.Batch)) error {
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
	// If both are ready, the outcome of the write says more.
	select {
	case err := <-done:
		return err
	default:
		return waited(ctx)
	}
}

// Settle writes everything that waits for the next batch: gap records and the remainder of a batch.
func (s *Sink) Settle(ctx context.Context) error {
	if err := s.Acquire(ctx); err != nil {
		return err
	}
	if s.closed || !s.isPending() {
		s.Release()
		return nil
	}
	return s.Submit(ctx, encoding.NewBatch(0), nil)
}

// isPending reports whether a gap or a remainder waits. The caller holds busy.
func (s *Sink) isPending() bool {
	s.gapMu.Lock()
	defer s.gapMu.Unlock()
	return len(s.gaps) > 0 || s.remainder != nil
}

func (s *Sink) writeAndRelease(o *inflight) error {
	err := s.write(o)
	s.Release()
	return err
}

func (s *Sink) write(o *inflight) error {
	if s.closed {
		s.account(o, 0, "shutdown", ErrShutdown)
		return ErrShutdown
	}
	if s.breaker.failures >= maxFailures && time.Now().Before(s.breaker.retryAt) {
		s.account(o, 0, "write_failed", errBreakerOpen)
		return errBreakerOpen
	}
	defer s.target.Release()
	lost, err := s.writeRemainder()
	if err != nil {
		s.breaker.failed(time.Now())
		err = fmt.Errorf("traces export: writing the rest of a batch: %w", err)
		s.account(o, 0, "write_failed", err)
		return err
	}
	o.gaps = s.takeGaps()
	out, head, notice, err := s.assemble(o)
	n := 0
	if err == nil && len(out) > 0 {
		n, err = writeRetrying(s.target, out)
	}
	if n > 0 {
		s.sequence++
	}
	if err != nil {
		s.breaker.failed(time.Now())
		what := "spans above operations"
		switch {
		case o.batch.Entries > 0:
			what = units.Plural(int64(o.batch.Entries), "entry")
		case o.batch.Empty():
			what = "records of losses"
		}
		err = fmt.Errorf("traces export: writing %s: %w", what, err)
		s.failed(o, out, head, n, err)
		return errors.Join(lost, err)
	}
	s.committed(o.batch)
	s.torn = false
	s.breaker = breaker{}
	s.account(o, o.batch.Entries, "", nil)
	return errors.Join(lost, notice)
}

func (s *Sink) committed(b *encoding.Batch) {
	s.started = true
	if !b.Empty() {
		s.resource = b.Last
	}
}

// assemble returns the bytes to write for o and the length of their head. notice does not prevent the write.
func (s *Sink) assemble(o *inflight) (out []byte, head int, notice, err error) {
	out, head = s.frame(o)
	if len(out) == 0 {
		return nil, 0, nil, nil
	}
	state, err := s.target.Ready(len(out))
	if err != nil {
		if !rotate.IsNotice(err) {
			return nil, 0, nil, err
		}
		notice = err
	}
	torn := state.Torn || s.torn && !state.Other
	again := state.Other && s.started || s.torn != torn
	s.started = s.started && !state.Other
	s.torn = torn
	if again {
		out, head = s.frame(o)
	}
	return out, head, errors.Join(notice, s.target.Reserve(len(out))), nil
}

func (s *Sink) frame(o *inflight) (out []byte, head int) {
	s.framing = encoding.Framing{
		Writer: s.writer, Sequence: s.sequence, Gaps: o.gaps,
		Header: !s.started || !o.batch.Empty() && o.batch.First != s.resource,
		// Only the incomplete line stays unreadable.
		Newline: s.torn && s.lines != nil,
		Scratch: s.framing.Scratch[:0], Tail: s.framing.Tail,
	}
	out, head = s.format.Frame(o.batch, &s.framing)
	if len(out) == 0 {
		return nil, 0
	}
	if s.compressor == nil {
		return out, head
	}
	s.packed = s.compressor(s.packed[:0], out)
	return s.packed, 0
}

func (s *Sink) failed(o *inflight, out []byte, head, n int, err error) {
	known := n > 0 && n <= len(out)
	whole := max(0, min(n, len(out)))
	if s.lines != nil && known && n < len(out) && out[n] == '\n' {
		whole++ // the next batch begins with the newline
	}
	complete := 0
	switch {
	case !known:
	case s.lines == nil:
		complete = -1
	case whole >= head:
		complete = s.lines.Complete(o.batch, out[head:whole])
	}
	switch {
	case complete < 0 && n < len(out):
		s.remainder = &remainder{inflight: o, bytes: out[n:]}
		s.framing.Scratch = nil // the remainder may alias it or packed
		s.packed = nil
		s.committed(o.batch) // the next record follows the whole batch
		s.torn = false
		return
	case complete < 0: // the whole batch, despite the error
		s.committed(o.batch)
		s.account(o, o.batch.Entries, "", err)
		return
	}
	if !known {
		whole = 0
	}
	s.keepGaps(o, out[:min(whole, head)])
	// A failing writer's count is often wrong; an empty line does no harm.
	s.torn = !known || out[n-1] != '\n'
	// The batch may have changed the resource: the next one starts with a header.
	s.started = false
	s.account(o, complete, "write_failed", err)
}

// Shutdown writes the last gaps and closes the target, or leaves that to a write outlasting ctx.
func (s *Sink) Shutdown(ctx context.Context) error {
	if err := s.Acquire(ctx); err != nil {
		s.shutdownMissed.Store(true)
		select {
		case s.busy <- struct{}{}: // free since: between the wait and the store
		default:
			return err
		}
	}
	// A context that is done already still closes the file.
	return Await(ctx, lastFinish, func() error {
		err := s.finish()
		<-s.busy
		return err
	})
}

// lastFinish is Shutdown's wait if its context is done. A local file needs milliseconds.
const lastFinish = 100 * time.Millisecond

// finish closes the sink. The caller holds busy.
func (s *Sink) finish() error {
	if s.closed {
		return nil
	}
	var err error
	if s.isPending() {
		s.breaker = breaker{} // the last chance
		err = s.write(s.begin(encoding.NewBatch(0), nil))
	}
	if s.remainder != nil {
		s.abandonRemainder(err)
	}
	s.closed = true
	return errors.Join(err, s.target.Close())
}

// Target is the destination of a Sink. It is not safe for concurrent use.
type Target interface {
	io.Writer
	// Ready prepares for a write of about n bytes, and describes the file that takes it.
	Ready(n int) (rotate.State, error)
	// Reserve makes room for a write of n bytes.
	Reserve(n int) error
	// Continue reports whether a write can resume at the end of the one before.
	Continue() (bool, error)
	// Release ends the hold of Ready or Continue after the write.
	Release()
	// Close ends the writing.
	Close() error
}

// ToWriter returns a Target that writes to w. It does not close w.
func ToWriter(w io.Writer) Target { return writer{w} }

type writer struct{ io.Writer }

func (writer) Ready(int) (rotate.State, error) { return rotate.State{}, nil }
func (writer) Reserve(int) error               { return nil }
func (writer) Continue() (bool, error)         { return true, nil }
func (writer) Release()                        {}
func (writer) Close() error                    { return nil }
