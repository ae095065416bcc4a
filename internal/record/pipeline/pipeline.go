// Package pipeline carries ended spans to an exporter: in buffers of encoded records, in a bounded queue of spans in
// front of any exporter, or in the history of a flight recorder.
// A pipeline handles a lack of room, decides when to write, stops in time, and counts the outcome of every span.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op/attr"
)

// Pipeline carries spans to an exporter. It is safe for concurrent use.
type Pipeline interface {
	// OnEnd takes an ended span. After Stop an operation counts as dropped.
	OnEnd(e span.Ended)
	// Flush returns when the exporter has all spans passed to OnEnd before.
	Flush(ctx context.Context) error
	// Stop flushes and ends the pipeline, at the latest when ctx is done. Spans left then count as dropped.
	Stop(ctx context.Context) error
	// Stats returns the counts so far.
	Stats() Stats
}

// Stats counts spans, like optrace.Stats. Exported counts the spans handed to the exporter, with any outcome. Lost
// counts the dropped spans that the exporter never got.
type Stats struct{ Recorded, Exported, Written, Dropped, Lost, Skipped uint64 }

func isOperation(m *attr.Mapping, e *span.Ended) bool {
	return e.Data != nil || encoding.IsOperation(m, e.Span)
}

// Policy handles a span for which there is no room.
type Policy uint8

// The policies.
const (
	DropNewest Policy = iota
	DropOldest
	Block
)

// String returns the name of the policy.
func (p Policy) String() string {
	switch p {
	case DropNewest:
		return "drop-newest"
	case DropOldest:
		return "drop-oldest"
	case Block:
		return "block"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// Many is a Pipeline that takes many operations of a Recorder at a lower cost. It uses the data of an operation only
// until it asks for the next one. OnEnds may hold a lock meanwhile.
type Many interface {
	OnEnds(all iter.Seq[span.Ended])
}

// Config configures a pipeline.
type Config struct {
	Policy        Policy
	MaxBytes      int64 // of all buffers, at least MinMaxBytes
	FlushInterval time.Duration
	ExportTimeout time.Duration
	CacheBytes    int // of the caches of all encoders

	// Of flight recorders:
	Entries int           // operations kept
	OnError bool          // failed operations request a dump
	OnSlow  time.Duration // local roots at least this long request a dump; 0 is off
	Signals []os.Signal   // these request a dump
}

// Output is the exporter that a pipeline encodes for.
type Output struct {
	Sink    *sink.Sink
	Traces  *traces.WithOps
	Format  encoding.Format
	Mapping *attr.Mapping
}

type worker struct {
	wake             chan struct{} // holds one
	flushes, stopReq chan flushRequest
	done             chan struct{} // closed at its end
	errs             *observ.Errors
	ctx              context.Context // bounds work without a waiting caller
	cancel           context.CancelFunc
	// A stop without a deadline waits while progress, the spans taken by the exporter, changes within timeout.
	timeout  time.Duration
	progress func() uint64
}

type flushRequest struct {
	ctx  context.Context
	done chan error // buffered
}

func newWorker(errs *observ.Errors, timeout time.Duration, progress func() uint64) worker {
	ctx, cancel := context.WithCancel(context.Background())
	return worker{
		wake: make(chan struct{}, 1), flushes: make(chan flushRequest), stopReq: make(chan flushRequest, 1),
		done: make(chan struct{}), errs: errs, ctx: ctx, cancel: cancel, timeout: timeout, progress: progress,
	}
}

// work has the tasks of a worker: after a notify, when due or requested, and at the end.
type work struct{ woken, due, end func(context.Context) error }

// run works until it is told to end. An interval of 0 is off. Signals make work due, too.
func (p *worker) run(interval time.Duration, signals <-chan os.Signal, do work) {
	defer close(p.done)
	var ticks <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-p.wake:
			p.errs.Report(do.woken(p.ctx))
		case <-ticks:
			p.errs.Report(do.due(p.ctx))
		case <-signals:
			p.errs.Report(do.due(p.ctx))
		case req := <-p.flushes:
			req.done <- do.due(req.ctx)
		case req := <-p.stopReq:
			req.done <- do.end(req.ctx)
			return
		}
	}
}

// attempt returns a context for one write or export. It ends with the worker's waits.
func (p *worker) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	stop := context.AfterFunc(p.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// notify wakes the worker unless a wake-up is pending.
func (p *worker) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Flush waits until the worker has worked once more or has ended, or until ctx is done.
func (p *worker) Flush(ctx context.Context) error {
	req := flushRequest{ctx: ctx, done: make(chan error, 1)}
	select {
	case p.flushes <- req:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return nil
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StopGrace is the time for a goroutine to notice the end of its context.
const StopGrace = 100 * time.Millisecond

// ErrStuck is the error of a Stop without a deadline if the exporter makes no progress.
var ErrStuck = errors.New("optrace: the exporter makes no progress")

// bound returns ctx. Without a deadline, the context ends when progress stops.
func (p *worker) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	const looks = 8 // per wait
	ctx, stuck := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(max(p.timeout/looks, 1))
		defer ticker.Stop()
		last := p.progress()
		since := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := p.progress(); now != last {
				last = now
				since = time.Now()
			} else if time.Since(since) >= p.timeout {
				stuck(ErrStuck)
			}
		}
	}()
	return ctx, func() { stuck(nil) }
}

// stop ends the worker after its last work. When ctx ends, or progress stops without a deadline, the worker's waits
// end. A worker that ignores its context is left running, and ended is false.
func (p *worker) stop(ctx context.Context) (ended bool, err error) {
	defer p.cancel()
	ctx, free := p.bound(ctx)
	defer free()
	req := flushRequest{ctx: ctx, done: make(chan error, 1)}
	p.stopReq <- req
	select {
	case <-p.done:
		return true, <-req.done
	case <-ctx.Done():
	}
	p.cancel()
	timer := time.NewTimer(StopGrace)
	defer timer.Stop()
	select {
	case <-p.done:
		err := <-req.done
		if cause := context.Cause(ctx); errors.Is(cause, ErrStuck) {
			err = errors.Join(err, cause)
		}
		return true, err
	case <-timer.C:
		return false, context.Cause(ctx)
	}
}
