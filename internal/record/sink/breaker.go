package sink

import (
	"errors"
	"time"
)

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
