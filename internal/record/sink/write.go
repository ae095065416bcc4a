package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/op"
)

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

func (b *breaker) allows(now time.Time) bool {
	return b.failures < maxFailures || !now.Before(b.retryAt)
}

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
