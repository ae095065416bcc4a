package optrace

import (
	"context"
	"time"
)

// flushRequest asks a pipeline's goroutine to flush.
type flushRequest struct {
	ctx  context.Context
	done chan error // buffered
}

// requestFlush asks the goroutine that serves requests to flush, and waits
// until it has, until ctx is done, or until the goroutine has ended.
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

// stopGrace is how long a pipeline's goroutine has to notice that its context
// has ended.
const stopGrace = 100 * time.Millisecond

// requestStop asks the goroutine that serves requests to flush and end, and
// waits for it. When ctx ends, cancel ends whatever the goroutine waits for; if
// it waits for something that does not listen, it is left behind and ended is
// false.
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
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-done:
		return true, <-req.done
	case <-timer.C:
		return false, ctx.Err()
	}
}
