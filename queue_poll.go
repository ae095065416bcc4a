package optrace

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/deviceclock"
)

// ring holds the operations of a stream that wait, those with an index from head up to
// tail. The mutex of its queue guards it, but for times, which belongs to who polls.
type ring[E Event] struct {
	ops        []pendingOp[E]
	head, tail uint64
	passed     uint64 // up to here the device is known to have got
	times      *deviceclock.Stream
}

// pendingOp is an operation that waits.
type pendingOp[E Event] struct {
	Launch
	start, end E
	attrs      []attribute.KeyValue

	// What is known once the device has passed the end, at the host's time passed.
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

// Poll asks the device how far it has got, and records the operations that it has got through. It does
// not wait for the device. It returns how many operations it has recorded.
func (q *Queue[E]) Poll() int {
	if q.isOff() {
		return 0
	}
	return q.poll(false)
}

// poll is Poll. If flush is set the clock is read whenever an operation waits for that.
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
	if q.cfg.clock != nil && waiting && (flush || now.Sub(q.sampled) >= q.cfg.every) {
		if err := q.cfg.clock.Sample(q.read); err == nil {
			q.sampled = now
		}
	}
	for _, r := range rings {
		recorded += q.record(r)
	}
	return recorded
}

// look asks how far a stream has got, and reports whether operations are to be recorded.
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
		if r.isThere(i) { // it was not dropped meanwhile
			*r.at(i) = o
			r.passed = i + 1
		}
	}
	defer q.mu.Unlock()
	return r.head < r.passed
}

// pass asks for the times of an operation, and reports whether it waits no longer.
func (q *Queue[E]) pass(o *pendingOp[E]) bool {
	end, ended, err := q.eventTime(o.end)
	start, begun := int64(0), false
	if err == nil && ended {
		start, begun, err = q.eventTime(o.start)
	}
	o.passed = time.Now()
	switch {
	case err != nil:
		o.lost = true
	case ended && begun:
		o.startAt, o.endAt = start, end
	default:
		o.lost = o.passed.UnixNano()-o.at > int64(q.cfg.timeout)
		return o.lost
	}
	return true
}

// eventTime calls the application's Time. One that panics has failed.
func (q *Queue[E]) eventTime(e E) (at int64, done bool, err error) {
	defer q.recover("the time of an event", &err)
	return e.Time()
}

// read calls the application's reading of the device's clock.
func (q *Queue[E]) read() (at int64, err error) {
	defer q.recover("reading the clock of the device", &err)
	return q.cfg.read()
}

// recover makes an error of a panic.
func (q *Queue[E]) recover(what string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("optrace: %s panicked: %v", what, r)
		q.errs.Report(*err)
	}
}

// record records what the device has got through of a stream.
func (q *Queue[E]) record(r *ring[E]) (recorded int) {
	q.mu.Lock()
	for r.head < r.passed {
		i, o := r.head, &q.one
		*o = *r.at(i)
		q.mu.Unlock()
		settled := o.lost || q.cfg.clock == nil || q.isSettled(o)
		q.mu.Lock()
		if !settled {
			break
		}
		if r.isThere(i) { // it was not dropped meanwhile
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

const patience = 3 // intervals of the clock's readings, for which an operation waits for the next

// isSettled reports whether the clock knows all of an operation's times that it will.
func (q *Queue[E]) isSettled(o *pendingOp[E]) bool {
	now := time.Now()
	t, ok := q.cfg.clock.Unix(o.endAt, o.at, o.passed.UnixNano())
	return ok && t.Settled || now.Sub(o.passed) > patience*q.cfg.every
}

// recordOne records an operation, or counts why not.
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

// place maps times of the device, between the launch and now, and returns their bound.
func (r *ring[E]) place(t *Times, now int64) (bound int64, ok bool) {
	start, ok := r.times.Unix(t.Start, t.Launch, now)
	if !ok {
		return 0, false
	}
	end, ok := r.times.Unix(t.End, t.Launch, now)
	t.Start, t.End = start.Unix, end.Unix
	return max(start.Error, end.Error), ok
}
