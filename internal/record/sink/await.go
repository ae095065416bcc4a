package sink

import (
	"context"
	"time"
)

// Await runs f and returns its error. If f still runs when grace has passed after the end of ctx, Await returns the
// error of ctx and leaves f running.
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
