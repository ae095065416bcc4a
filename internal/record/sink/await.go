package sink

import (
	"context"
	"time"
)

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
