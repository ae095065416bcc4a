package pipeline

import (
	"context"
	"errors"
	"time"
)

// flushRequest asks a pipeline's goroutine to flush.
type flushRequest struct {
	ctx  context.Context
	done chan error // buffered
}

// requestFlush asks the goroutine that serves requests to flush, and waits until
// it has done so, until ctx is done, or until the goroutine has ended.
func requestFlush(ctx context.Context, requests chan<- flushRequest, ended <-chan struct{}) error {
	req := flushRequest{ctx: ctx, done: make(chan error, 1)}
	select {
	case requests <- req:
	case <-ctx.Done():
		return ctx.Err()
	case <-ended:
		return nil
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StopGrace is how long a goroutine has to notice that its context has ended.
const StopGrace = 100 * time.Millisecond

// ErrStuck is the error of a Stop that was given no deadline and gave up on an
// exporter that made no progress.
var ErrStuck = errors.New("optrace: the exporter makes no progress")

// patience is how long requestStop waits without a deadline: as long as progress,
// which counts what the exporter has taken, changes within this time.
type patience struct {
	atMost   time.Duration
	progress func() uint64
}

// bound returns ctx, or where that has no deadline a context that ends when there
// is no progress.
func (p patience) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	const looks = 8 // per wait
	ctx, stuck := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(max(p.atMost/looks, 1))
		defer ticker.Stop()
		last, since := p.progress(), time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := p.progress(); now != last {
				last, since = now, time.Now()
			} else if time.Since(since) >= p.atMost {
				stuck(ErrStuck)
			}
		}
	}()
	return ctx, func() { stuck(nil) }
}

// requestStop asks the goroutine that serves requests to flush and end, and
// waits for it. When ctx ends, or p without a deadline, cancel ends the waits of the
// goroutine. If it waits for something that ignores its context, it is left running
// and ended is false.
func requestStop(
	ctx context.Context, p patience, requests chan<- flushRequest, done <-chan struct{}, cancel context.CancelFunc,
) (ended bool, err error) {
	defer cancel()
	ctx, free := p.bound(ctx)
	defer free()
	req := flushRequest{ctx: ctx, done: make(chan error, 1)}
	requests <- req
	select {
	case <-done:
		return true, <-req.done
	case <-ctx.Done():
	}
	cancel()
	timer := time.NewTimer(StopGrace)
	defer timer.Stop()
	select {
	case <-done:
		return true, errors.Join(<-req.done, onlyStuck(ctx))
	case <-timer.C:
		return false, context.Cause(ctx)
	}
}

// onlyStuck returns ErrStuck if that ended ctx.
func onlyStuck(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ErrStuck) {
		return err
	}
	return nil
}
