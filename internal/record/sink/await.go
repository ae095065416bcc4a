package sink

import (
	"context"
	"time"
)

// Await runs f and returns its error, or that of ctx if f has not returned by the time that grace has
// passed after ctx was done; f is then left running.
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
