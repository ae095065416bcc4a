package optrace

import (
	"context"
	"time"
)

// await runs f and returns what it returns, or ctx's error where f has not
// returned grace after ctx was done; f is then left behind. A context that is
// done before leaves f the grace: closing a local file needs milliseconds.
func await(ctx context.Context, grace time.Duration, f func() error) error {
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
