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

	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Event is a mark in a stream of a device, which the device stamps with its clock when
// it gets there.
type Event interface {
	// Time returns what the device stamped the event with, and whether it has got there yet: in
	// ticks of the clock of [WithDeviceClock], without one in Unix nanoseconds. An error says that
	// it never will. Time must not call the Queue.
	Time() (at int64, done bool, err error)
}

// Queue holds operations that the host has launched on a device, and records them when the device has
// got through them. An engine launches with
//
//	o := q.Begin(ctx, prepared)
//	… enqueue the start event, the kernel and the end event
//	q.Launched(o, start, end)
//
// and calls Poll now and then, such as after each step: the device is not waited for. Operations
// belong to the span of their ctx, also when it has ended meanwhile. In front of a Processor, Begin makes
// sure that the span is recorded; in front of a Tracer see [Times].
//
// The operations of one device and stream, as their [OpSpec] names them, end in the order in which
// they were launched, and wait in a ring of their own. When that is full, the [Policy] says what
// happens. Nothing is lost without being counted, see [QueueStats]:
//
//   - an event that fails, or is not reached within the time of [WithEventTimeout]: lost
//   - an end before the start: recorded, and counted as reversed
//   - a start before the launch: recorded, and counted as early; with a device clock unplaced
//   - a time that the device clock cannot place: lost, and counted as unplaced
//   - a device clock that runs backward: the times of a stream stand still, and Backward of
//     [deviceclock.Stats] counts it
//   - a context whose trace is not recorded: skipped at once
//   - an event that panics, or no prepared operation: lost, and the error handler of OpenTelemetry
//     is told
//
// A Queue is safe for concurrent use. It has no goroutine. A nil or zero Queue records nothing.
type Queue[E Event] struct {
	to   queueTarget // nil for a zero Queue
	cfg  queueConfig
	uses sync.Pool // of *launchUse
	errs observ.Errors

	mu     sync.Mutex
	rings  map[streamKey]*ring[E]
	all    []*ring[E] // in the order in which they were made
	stats  QueueStats
	closed bool

	polling sync.Mutex   // one goroutine polls at a time; guards what follows
	sampled time.Time    // when the clock was read last
	one     pendingOp[E] // is being recorded
	further []attribute.KeyValue
}

// QueueStats counts what became of the operations of a [Queue].
type QueueStats struct {
	Launched uint64 // the sum of those below, but for Reversed and Early
	Recorded uint64
	Skipped  uint64 // of traces that are not recorded
	Dropped  uint64 // there was no room for them, or no time before Shutdown
	Lost     uint64 // their events failed or were never reached
	Unplaced uint64 // the device clock did not know their times
	Pending  uint64 // wait for the device

	// Reversed and Early count recorded operations: those that ended before they
	// started, and those that started before they were launched.
	Reversed, Early uint64
}

// QueueOption configures a [Queue].
type QueueOption interface{ apply(*queueConfig) }

type queueConfig struct {
	size    int
	policy  Policy
	timeout time.Duration
	clock   *deviceclock.Clock
	read    func() (int64, error)
	every   time.Duration
}

// WithQueueSize bounds the operations of a stream that wait. Default: 4096.
func WithQueueSize(n int) QueueOption {
	return option[queueConfig](func(cfg *queueConfig) { cfg.size = n })
}

// WithQueuePolicy sets what happens where there is no room: the operation that is launched is lost, or
// the oldest one of its stream, or Launched polls until there is room. Default: [PolicyDropNewest].
func WithQueuePolicy(p Policy) QueueOption {
	return option[queueConfig](func(cfg *queueConfig) { cfg.policy = p })
}

// WithEventTimeout sets after what time an operation is given up whose events have not been reached.
// Default: a minute.
func WithEventTimeout(d time.Duration) QueueOption {
	return option[queueConfig](func(cfg *queueConfig) { cfg.timeout = d })
}

// WithDeviceClock has times of events mapped by clock. Poll reads the device's clock with read where
// the last reading is older than every, such as a tenth of a second; operations wait until it was
// read once more after they had ended. How far their times may be off at most becomes their
// attribute tensor.clock.error, rounded up to 1, 2 or 5 times a power of ten.
func WithDeviceClock(clock *deviceclock.Clock, every time.Duration, read func() (int64, error)) QueueOption {
	return option[queueConfig](func(cfg *queueConfig) { cfg.clock, cfg.every, cfg.read = clock, every, read })
}

func (cfg *queueConfig) validate() error {
	var wrong faults
	wrong.add(cfg.size < 1, "a size of %d is not positive", cfg.size)
	wrong.add(cfg.policy > PolicyBlock, "unknown policy %d", cfg.policy)
	wrong.add(cfg.timeout <= 0, "event timeout %v is not positive", cfg.timeout)
	wrong.add(cfg.clock != nil && (cfg.read == nil || cfg.every <= 0), "the device clock is never read")
	return errors.Join(wrong...)
}

// NewQueue returns a Queue that records with a [Tracer], as spans, or with a [Processor], as entries;
// one that is nil or zero records nothing. No to and options with values that make no sense are errors.
func NewQueue[E Event](to Recording, opts ...QueueOption) (*Queue[E], error) {
	if to == nil {
		return nil, errors.New("optrace: new queue: there is nothing to record with")
	}
	cfg := queueConfig{size: 4096, timeout: time.Minute}
	apply(&cfg, opts, QueueOption.apply)
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("optrace: new queue: %w", err)
	}
	return &Queue[E]{
		to: to.queueTarget(), cfg: cfg, rings: make(map[streamKey]*ring[E]), uses: sync.Pool{New: func() any { return new(launchUse) }},
	}, nil
}

// Launch is an operation that the host is about to enqueue; see [Queue.Begin]. Copies stand for
// the same operation.
type Launch struct {
	use      *launchUse // nil for the zero Launch
	uses     uint64
	ctx      context.Context
	prepared *Prepared
	root     span.Root
	at       int64
	skipped  bool
}

// launchUse tells whether a Launch was launched: it is used by one after the other.
type launchUse struct{ launched atomic.Uint64 }

// isOff reports whether q records nothing.
func (q *Queue[E]) isOff() bool { return q == nil || q.to == nil }

// Begin notes when the host launches p below the span of ctx, before it is enqueued: the
// device may start at once.
func (q *Queue[E]) Begin(ctx context.Context, p *Prepared) Launch {
	ctx = orBackground(ctx)
	if q.isOff() {
		return Launch{}
	}
	use := q.uses.Get().(*launchUse)
	root, taken := q.to.begin(ctx)
	return Launch{use: use, uses: use.launched.Load(), ctx: ctx, prepared: p, root: root, at: time.Now().UnixNano(), skipped: !taken}
}

// Launched adds an operation to the queue, with the events before and behind it, and attributes in
// addition to those that were prepared. With a Launch that Begin has not returned, or for a second
// time, it adds nothing, and the error handler of OpenTelemetry is told.
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

// drop counts n operations as dropped.
func (q *Queue[E]) drop(n uint64) {
	q.stats.Dropped += n
	q.to.lose("queue_full", n)
}

// ring returns the ring of a stream.
func (q *Queue[E]) ring(k streamKey) *ring[E] {
	r := q.rings[k]
	if r == nil {
		r = &ring[E]{ops: make([]pendingOp[E], q.cfg.size)}
		if q.cfg.clock != nil {
			r.times = q.cfg.clock.Stream()
		}
		q.rings[k] = r
		q.all = append(q.all, r)
	}
	return r
}

// Stats returns the counts.
func (q *Queue[E]) Stats() QueueStats {
	if q.isOff() {
		return QueueStats{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// Waits between looks at the device.
const (
	firstWait   = 20 * time.Microsecond
	longestWait = time.Millisecond
)

// ForceFlush polls until all that was launched before the call is recorded or lost. When ctx is done
// before, its error says how many operations are left; they stay in the queue.
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
			return fmt.Errorf("optrace: flushing a queue: %d operations are pending: %w", left, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// left returns how many operations wait that were launched before the rings ended where
// tails say.
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

// Shutdown flushes and ends the queue. What is left when ctx is done counts as dropped, and so does
// what is launched later.
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

// clockError returns the attribute for a bound, rounded up so that few bounds differ.
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

// Recording is what a [Queue] records with: a *[Tracer] or a *[Processor].
type Recording interface{ queueTarget() queueTarget }

// queueTarget takes the operations of a queue. All but begin and lose are called by who
// polls.
type queueTarget interface {
	// begin returns the local root above ctx if it is known, and whether operations
	// below ctx are taken.
	begin(ctx context.Context) (root span.Root, taken bool)
	record(l *Launch, t Times, attrs []attribute.KeyValue)
	flush()
	// lose counts operations that are lost.
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

func (f *FlightRecorder) queueTarget() queueTarget { return f.processor().queueTarget() }

func (p *Processor) queueTarget() queueTarget {
	return &processorTarget{Processor: p, rec: p.Recorder(context.Background())}
}

// processorTarget collects the operations of one context after the other.
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
	t.rec.ctx, t.rec.root, t.rec.step = l.ctx, l.root, op.Int{}
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
	t.rec.ctx = context.Background() // the application's may be large
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
