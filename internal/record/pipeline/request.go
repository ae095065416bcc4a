package pipeline

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/optrace/optrace/internal/record/observ"
)

type worker struct {
	wake    chan struct{} // holds one
	flushes chan flushRequest
	stopReq chan flushRequest
	done    chan struct{} // closed at its end
	errs    *observ.Errors
	ctx     context.Context // bounds work without a waiting caller
	cancel  context.CancelFunc
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

// stop ends the worker after its last work, and waits for it. When ctx ends, or progress stops without a deadline, the
// worker's waits end. A worker that ignores its context is left running, and ended is false.
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
