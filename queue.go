package optrace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Event is a mark in a stream of a device. The device stamps it with its clock when it reaches the mark.
type Event interface {
	// Time returns the device's stamp and whether the device has reached the event. The stamp is in ticks of the clock
	// of [WithDeviceClock], or in Unix nanoseconds without one. An error means that the device will not reach the
	// event. Time must not call the Queue.
	Time() (at int64, done bool, err error)
}

// Queue holds operations launched on a device and records them when the device has run them. An engine launches with
//
//	o := q.Begin(ctx, prepared)
//	… enqueue the start event, the kernel and the end event
//	q.Launched(o, start, end)
//
// and calls Poll regularly, such as after each step. Poll does not wait for the device. Operations belong to the span
// of their ctx, even if it has ended. With a Processor, Begin makes sure that this span is recorded; with a Tracer see
// [Times].
//
// Operations with one device and stream in their [OpSpec] end in launch order. Each stream has a ring of waiting
// operations. If it is full, the [Policy] decides. [QueueStats] counts every loss:
//
//   - an event that fails, or exceeds the time of [WithEventTimeout]: lost
//   - an end before the start: recorded and counted as reversed
//   - a start before the launch: recorded and counted as early; with a device clock unplaced
//   - a time that the device clock cannot convert: lost and counted as unplaced
//   - a device clock that runs backward: the times of a stream stand still, counted as Backward in
//     [deviceclock.Stats]
//   - a context in an unrecorded trace: skipped at once
//   - an event that panics, or a nil Prepared: lost and reported to OpenTelemetry's error handler
//
// A Queue is safe for concurrent use and has no goroutine. A nil or zero Queue is a no-op.
type Queue[E Event] struct {
	to   queueTarget // nil for a zero Queue
	cfg  processorConfig
	uses sync.Pool // of *launchUse
	errs observ.Errors

	mu     sync.Mutex
	rings  map[streamKey]*ring[E]
	all    []*ring[E] // in order of creation
	stats  QueueStats
	closed bool

	polling sync.Mutex   // held by the polling goroutine; guards the fields below
	sampled time.Time    // of the last clock reading
	one     pendingOp[E] // being recorded
	further []attribute.KeyValue
}

// QueueStats counts the operations of a [Queue] by outcome.
type QueueStats struct {
	Launched uint64 // sum of Recorded, Skipped, Dropped, Lost, Unplaced and Pending
	Recorded uint64
	Skipped  uint64 // in unrecorded traces
	Dropped  uint64 // for lack of room, or of time before Shutdown
	Lost     uint64 // events failed or were never reached
	Unplaced uint64 // times unknown to the device clock
	Pending  uint64 // waiting for the device

	// Reversed and Early count recorded operations with an end before the start, and a start before the launch.
	Reversed, Early uint64
}

// NewQueue returns a Queue that records spans with a [Tracer], or entries with a [Processor]. A nil or zero Tracer or
// Processor is a no-op. NewQueue returns an error if to is nil or an option is invalid.
func NewQueue[E Event](to Recording, opts ...ProcessorOption) (*Queue[E], error) {
	if to == nil {
		return nil, errors.New("optrace: new queue: no tracer or processor")
	}
	cfg, err := newProcessorConfig(queues, opts)
	if err != nil {
		return nil, err
	}
	return &Queue[E]{
		to: to.queueTarget(), cfg: cfg, rings: make(map[streamKey]*ring[E]),
		uses: sync.Pool{New: func() any { return new(launchUse) }},
	}, nil
}

// Launch is an operation that the host is about to enqueue; see [Queue.Begin]. Copies stand for the same operation.
type Launch struct {
	use      *launchUse // nil for the zero Launch
	uses     uint64
	ctx      context.Context
	prepared *Prepared
	root     span.Root
	at       int64
	skipped  bool
}

// launchUse counts launches. Launches share it one after the other.
type launchUse struct{ launched atomic.Uint64 }

// isOff reports whether q is nil or zero.
func (q *Queue[E]) isOff() bool { return q == nil || q.to == nil }

// Begin notes the time of the launch of p below the span of ctx. Call it before the kernel is enqueued: the device may
// start at once.
func (q *Queue[E]) Begin(ctx context.Context, p *Prepared) Launch {
	ctx = orBackground(ctx)
	if q.isOff() {
		return Launch{}
	}
	use := q.uses.Get().(*launchUse)
	root, taken := q.to.begin(ctx)
	return Launch{
		use: use, uses: use.launched.Load(), ctx: ctx, prepared: p, root: root, skipped: !taken,
		at: time.Now().UnixNano(),
	}
}

// Launched adds an operation to the queue, with the events before and after it, and attributes in addition to the
// prepared ones. It reports a second call with one Launch, or a Launch not from Begin, to OpenTelemetry's error handler
// and adds no operation.
func (q *Queue[E]) Launched(l Launch, start, end E, attrs ...attribute.KeyValue) {
	if q.isOff() {
		return
	}
	if l.use == nil || !l.use.launched.CompareAndSwap(l.uses, l.uses+1) {
		q.errs.Report(errors.New("optrace: launching an operation: it has not begun, or was launched before"))
		return
	}
	q.uses.Put(l.use)
	l.use = nil
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Launched++
	switch {
	case l.skipped:
		q.stats.Skipped++
		return
	case l.prepared == nil || l.prepared.tracer == nil:
		q.stats.Lost++
		q.to.lose("conversion_failed", 1)
		q.errs.Report(errors.New("optrace: launching an operation: it is not prepared"))
		return
	}
	r := q.ring(l.prepared.stream)
	for wait := firstWait; !q.closed && r.full() && q.cfg.policy == PolicyBlock; {
		q.mu.Unlock()
		q.poll(false)
		time.Sleep(wait)
		wait = min(2*wait, longestWait)
		q.mu.Lock()
	}
	switch {
	case q.closed, r.full() && q.cfg.policy == PolicyDropNewest:
		q.drop(1)
		return
	case r.full():
		r.pop()
		q.stats.Pending--
		q.drop(1)
	}
	r.push(pendingOp[E]{Launch: l, start: start, end: end, attrs: attrs})
	q.stats.Pending++
}

// drop counts n dropped operations.
func (q *Queue[E]) drop(n uint64) {
	q.stats.Dropped += n
	q.to.lose("queue_full", n)
}

// ring returns the ring of stream k.
func (q *Queue[E]) ring(k streamKey) *ring[E] {
	r := q.rings[k]
	if r == nil {
		r = &ring[E]{ops: make([]pendingOp[E], q.cfg.queueSize)}
		if q.cfg.clock != nil {
			r.times = q.cfg.clock.Stream()
		}
		q.rings[k] = r
		q.all = append(q.all, r)
	}
	return r
}

// Stats returns the counts so far.
func (q *Queue[E]) Stats() QueueStats {
	if q.isOff() {
		return QueueStats{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Pauses between two polls.
const (
	firstWait   = 20 * time.Microsecond
	longestWait = time.Millisecond
)

// ForceFlush polls until all operations launched before the call are recorded or lost. If ctx is done first, it returns
// an error with the number of pending operations, which stay in the queue.
func (q *Queue[E]) ForceFlush(ctx context.Context) error {
	if q.isOff() {
		return nil
	}
	ctx = orBackground(ctx)
	q.mu.Lock()
	var last []uint64
	for _, r := range q.all {
		last = append(last, r.tail)
	}
	q.mu.Unlock()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		q.poll(true)
		left := q.left(last)
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("optrace: flushing a queue: %s %s pending: %w",
				units.Plural(int64(left), "operation"), units.Verb(int64(left), "is", "are"), ctx.Err())
		case <-time.After(wait):
		}
	}
}

// left returns the number of waiting operations below tails, one tail for each ring.
func (q *Queue[E]) left(tails []uint64) (n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, tail := range tails {
		if head := q.all[i].head; head < tail {
			n += tail - head
		}
	}
	return n
}

// Shutdown flushes and ends the queue. Operations left when ctx is done, or launched later, count as dropped.
func (q *Queue[E]) Shutdown(ctx context.Context) error {
	if q.isOff() {
		return nil
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil
	}
	q.closed = true
	q.mu.Unlock()
	err := q.ForceFlush(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.all {
		for r.head < r.tail {
			r.pop()
		}
	}
	if n := q.stats.Pending; n > 0 {
		q.stats.Pending = 0
		q.drop(n)
	}
	return err
}

// clockError returns the attribute for an error bound, rounded up to few distinct values.
func clockError(ns int64) attribute.KeyValue {
	round := int64(1)
	for ns > 5*round && round < 1e17 {
		round *= 10
	}
	switch {
	case ns > 5*round:
		round = ns
	case ns > 2*round:
		round *= 5
	case ns > round:
		round *= 2
	}
	return tensorconv.ClockError(round)
}

// Recording is a *[Tracer] or a *[Processor], for [NewQueue].
type Recording interface{ queueTarget() queueTarget }

// queueTarget takes the operations of a queue. The polling goroutine calls record and flush.
type queueTarget interface {
	// begin returns the local root above ctx, if known, and whether operations below ctx are taken.
	begin(ctx context.Context) (root span.Root, taken bool)
	record(l *Launch, t Times, attrs []attribute.KeyValue)
	flush()
	// lose counts lost operations.
	lose(reason string, n uint64)
}

func (t *Tracer) queueTarget() queueTarget { return tracerTarget{t.orOff()} }

type tracerTarget struct{ *Tracer }

func (t tracerTarget) begin(ctx context.Context) (root span.Root, taken bool) {
	s := trace.SpanFromContext(ctx)
	sc := s.SpanContext()
	_, recorded := s.(sdktrace.ReadOnlySpan) // it may have ended
	return span.Root{}, t.Tracer != off && (!sc.IsValid() || sc.IsSampled() || recorded || s.IsRecording())
}

func (t tracerTarget) record(l *Launch, times Times, attrs []attribute.KeyValue) {
	defer t.recover()
	t.Tracer.record(l.ctx, l.prepared, &times, attrs)
}

func (tracerTarget) flush()              {}
func (tracerTarget) lose(string, uint64) {}

func (p *Processor) queueTarget() queueTarget {
	return &processorTarget{Processor: p, rec: p.Recorder(context.Background())}
}

// processorTarget records the operations of one context at a time.
type processorTarget struct {
	*Processor
	rec    *Recorder
	parent trace.SpanContext
}

func (t *processorTarget) begin(ctx context.Context) (root span.Root, taken bool) {
	if t.isOff() {
		return span.Root{}, false
	}
	return t.expect(ctx)
}

func (t *processorTarget) record(l *Launch, times Times, attrs []attribute.KeyValue) {
	left := uint64(1)
	defer t.recover("recording", &left)
	parent := trace.SpanContextFromContext(l.ctx)
	left = 0
	if !parent.Equal(t.parent) || l.root != t.rec.root {
		t.flush()
	}
	t.parent = parent
	t.rec.ctx = l.ctx
	t.rec.root = l.root
	t.rec.step = op.Int{}
	if step, ok := stepFromContext(l.ctx); ok {
		t.rec.step = op.Known(step)
	}
	t.rec.RecordPrepared(l.prepared, times).Attrs(attrs...)
}

func (t *processorTarget) flush() {
	if t.isOff() {
		return
	}
	t.rec.Finish()
	t.rec.ctx = context.Background() // release the application's context
}

func (t *processorTarget) lose(reason string, n uint64) {
	if t.isOff() {
		return
	}
	t.lost.Add(n)
	if t.exp != nil {
		t.exp.sink.Drop(reason, n)
	}
}
