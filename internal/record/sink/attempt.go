package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
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

// isTemporary reports whether err is temporary, such as EINTR or EAGAIN.
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
