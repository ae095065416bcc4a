package observ

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

// Errors reports errors without a caller to OpenTelemetry's error handler: at most one per pause, each on its own
// goroutine, because the handler may block or panic.
type Errors struct {
	last       atomic.Pointer[time.Time] // of the last report
	suppressed atomic.Int64
	busy       atomic.Bool // the handler is running
}

const reportPause = 10 * time.Second

// Report reports err, unless it is nil or comes too soon.
func (r *Errors) Report(err error) {
	if err == nil {
		return
	}
	now := time.Now() // monotonic: wall clocks may be set
	last := r.last.Load()
	if last != nil && now.Sub(*last) < reportPause || !r.busy.CompareAndSwap(false, true) {
		r.suppressed.Add(1)
		return
	}
	r.last.Store(new(now))
	if n := r.suppressed.Swap(0); n > 0 {
		err = fmt.Errorf("%w (and %d more errors since the last report)", err, n)
	}
	handling.Add(1)
	go func() {
		defer handling.Add(-1)
		defer r.busy.Store(false)
		defer func() { _ = recover() }() // no one is left to report to
		otel.Handle(err)
	}()
}

var handling atomic.Int64

// Await waits until all handlers have returned, ctx is done, or a tenth of a second has passed.
func Await(ctx context.Context) {
	const most = 100 * time.Millisecond
	for start := time.Now(); handling.Load() > 0 && ctx.Err() == nil && time.Since(start) < most; {
		time.Sleep(time.Millisecond)
	}
}
