package observ

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
)

// Errors hands errors that no caller can receive to OpenTelemetry's error handler: at most one per pause,
// and on a goroutine of its own, because the handler may block or panic.
type Errors struct {
	last       atomic.Pointer[time.Time] // when the last one was handed over
	suppressed atomic.Int64
	busy       atomic.Bool // the handler has not returned
}

const reportPause = 10 * time.Second

// Report hands err to the handler, unless it is nil or comes too soon.
func (r *Errors) Report(err error) {
	if err == nil {
		return
	}
	now := time.Now() // with its monotonic reading: clocks are set
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
		defer func() { _ = recover() }() // nobody is left to report to
		otel.Handle(err)
	}()
}

// handling counts the errors that handlers have not returned from.
var handling atomic.Int64

// Await waits until handlers have returned from all errors, ctx is done, or a tenth of a second has passed: a program
// that ends would lose its last errors.
func Await(ctx context.Context) {
	const most = 100 * time.Millisecond
	for start := time.Now(); handling.Load() > 0 && ctx.Err() == nil && time.Since(start) < most; {
		time.Sleep(time.Millisecond)
	}
}
