package pipeline

import (
	"context"
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

// requestStop asks the goroutine that serves requests to flush and end, and
// waits for it. When ctx ends, cancel ends the waits of the goroutine. If it waits
// for something that ignores its context, it is left running and ended is false.
func requestStop(
	ctx context.Context, requests chan<- flushRequest, done <-chan struct{}, cancel context.CancelFunc,
) (ended bool, err error) {
	defer cancel()
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
		return true, <-req.done
	case <-timer.C:
		return false, ctx.Err()
	}
}
