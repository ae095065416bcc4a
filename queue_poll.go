package optrace

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/deviceclock"
)

// ring holds the waiting operations of a stream, with indices from head to tail. The queue's mutex guards all but
// times; the polling goroutine owns times.
type ring[E Event] struct {
	ops        []pendingOp[E]
	head, tail uint64
	passed     uint64 // the device has run the operations below this index
	times      *deviceclock.Stream
}

// pendingOp is a waiting operation.
type pendingOp[E Event] struct {
	Launch
	start, end E
	attrs      []attribute.KeyValue

	// Set when the device has passed the end.
	startAt, endAt int64
	passed         time.Time
	lost           bool
}

func (r *ring[E]) full() bool                { return r.tail-r.head == uint64(len(r.ops)) }
func (r *ring[E]) at(i uint64) *pendingOp[E] { return &r.ops[i%uint64(len(r.ops))] }
func (r *ring[E]) push(o pendingOp[E])       { *r.at(r.tail) = o; r.tail++ }
func (r *ring[E]) pop()                      { *r.at(r.head) = pendingOp[E]{}; r.head++ }
func (r *ring[E]) isThere(i uint64) bool     { return r.head <= i && i < r.tail }
func (q *Queue[E]) locked(do func())         { q.mu.Lock(); defer q.mu.Unlock(); do() }

// Poll reads the events and records completed operations. It does not wait for the device. It returns the number of
// recorded operations.
func (q *Queue[E]) Poll() int {
	if q.isOff() {
		return 0
	}
	return q.poll(false)
}

// poll is Poll. With flush it reads the clock whenever an operation waits for a reading.
func (q *Queue[E]) poll(flush bool) (recorded int) {
	q.polling.Lock()
	defer q.polling.Unlock()
	defer func() {
		q.one = pendingOp[E]{}
		q.to.flush()
	}()
	var rings []*ring[E]
	q.locked(func() { rings = slices.Clip(q.all) })
	waiting := false
	for _, r := range rings {
		waiting = q.look(r) || waiting
	}
	now := time.Now()
	if q.cfg.clock != nil && waiting && (flush || now.Sub(q.sampled) >= q.cfg.readEvery) {
		if err := q.cfg.clock.Sample(q.read); err == nil {
			q.sampled = now
		}
	}
	for _, r := range rings {
		recorded += q.record(r)
	}
	return recorded
}

// look reads the events of a stream and reports whether it has operations to record.
func (q *Queue[E]) look(r *ring[E]) bool {
	q.mu.Lock()
	for {
		r.passed = max(r.passed, r.head)
		i := r.passed
		if i == r.tail {
			break
		}
		o := *r.at(i)
		q.mu.Unlock()
		done := q.pass(&o)
		q.mu.Lock()
		if !done {
			break
		}
		if r.isThere(i) { // not dropped meanwhile
			*r.at(i) = o
			r.passed = i + 1
		}
	}
	defer q.mu.Unlock()
	return r.head < r.passed
}

// pass reads the events of an operation and reports whether its wait is over.
func (q *Queue[E]) pass(o *pendingOp[E]) bool {
	end, ended, err := q.eventTime(o.end)
	start := int64(0)
	begun := false
	if err == nil && ended {
		start, begun, err = q.eventTime(o.start)
	}
	o.passed = time.Now()
	switch {
	case err != nil:
		o.lost = true
	case ended && begun:
		o.startAt = start
		o.endAt = end
	default:
		o.lost = o.passed.UnixNano()-o.at > int64(q.cfg.eventTimeout)
		return o.lost
	}
	return true
}

// eventTime calls the application's Time. A panic is an error.
func (q *Queue[E]) eventTime(e E) (at int64, done bool, err error) {
	defer q.recover("the time of an event", &err)
	return e.Time()
}

// read reads the device's clock.
func (q *Queue[E]) read() (at int64, err error) {
	defer q.recover("reading the clock of the device", &err)
	return q.cfg.readClock()
}

// recover turns a panic into an error.
func (q *Queue[E]) recover(what string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("optrace: %s panicked: %v", what, r)
		q.errs.Report(*err)
	}
}

// record records the completed operations of a stream.
func (q *Queue[E]) record(r *ring[E]) (recorded int) {
	q.mu.Lock()
	for r.head < r.passed {
		i := r.head
		o := &q.one
		*o = *r.at(i)
		q.mu.Unlock()
		settled := o.lost || q.cfg.clock == nil || q.isSettled(o)
		q.mu.Lock()
		if !settled {
			break
		}
		if r.isThere(i) { // not dropped meanwhile
			r.pop()
			q.stats.Pending--
			q.mu.Unlock()
			if q.recordOne(r, o) {
				recorded++
			}
			q.mu.Lock()
		}
	}
	q.mu.Unlock()
	return recorded
}

const patience = 3 // longest wait for a clock reading, in intervals between readings

// isSettled reports whether the clock's knowledge of an operation's times is final.
func (q *Queue[E]) isSettled(o *pendingOp[E]) bool {
	now := time.Now()
	t, ok := q.cfg.clock.Unix(o.endAt, o.at, o.passed.UnixNano())
	return ok && t.Settled || now.Sub(o.passed) > patience*q.cfg.readEvery
}

// recordOne records an operation, or counts the reason of its loss.
func (q *Queue[E]) recordOne(r *ring[E], o *pendingOp[E]) bool {
	times := Times{Start: o.startAt, End: o.endAt, Launch: o.at}
	q.further = append(q.further[:0], o.attrs...)
	count := &q.stats.Recorded
	switch {
	case o.lost:
		count = &q.stats.Lost
	case r.times != nil:
		if bound, ok := r.place(&times, o.passed.UnixNano()); ok {
			q.further = append(q.further, clockError(bound))
		} else {
			count = &q.stats.Unplaced
		}
	}
	recorded := count == &q.stats.Recorded
	q.locked(func() {
		*count++
		if recorded && o.endAt < o.startAt {
			q.stats.Reversed++
		}
		if recorded && times.Start < times.Launch {
			q.stats.Early++
		}
	})
	if recorded {
		q.to.record(&o.Launch, times, q.further)
	} else {
		q.to.lose("no_device_time", 1)
	}
	clear(q.further)
	return recorded
}

// place converts device times to Unix times between the launch and now, and returns the bound of their error.
func (r *ring[E]) place(t *Times, now int64) (bound int64, ok bool) {
	start, ok := r.times.Unix(t.Start, t.Launch, now)
	if !ok {
		return 0, false
	}
	end, ok := r.times.Unix(t.End, t.Launch, now)
	t.Start = start.Unix
	t.End = end.Unix
	return max(start.Error, end.Error), ok
}
