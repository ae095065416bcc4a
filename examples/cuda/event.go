package main

import (
	"errors"
	"fmt"
	"time"
)

// event is a mark in a stream of the device. It implements [optrace.Event].
type event struct {
	dev    *device
	handle handle
	base   *base // base at the time of the enqueueing
	passed bool
	at     int64 // if passed
}

// Time returns the device's time at the event, and whether the device has passed it.
func (e *event) Time() (at int64, done bool, err error) {
	if e.passed {
		return e.at, true, nil
	}
	at, err = e.base.time(e.dev, e.handle)
	if errors.Is(err, errNotPassed) {
		return 0, false, nil
	}
	e.at = at
	e.passed = err == nil
	return e.at, e.passed, err
}

// mark enqueues a new or reused event.
func (d *device) mark(stream int) (e *event) {
	if last := len(d.free) - 1; last >= 0 {
		e = d.free[last]
		d.free = d.free[:last]
	} else {
		e = &event{dev: d, handle: d.newEvent(eventTimed)}
	}
	e.base = d.clock.base
	e.passed = false
	d.do("cuEventRecord", func() result { return d.EventRecord(e.handle, d.streams[stream]) })
	return e
}

func (d *device) newEvent(flags uint32) (h handle) {
	d.create("cuEventCreate", func() result { return d.EventCreate(&h, flags) },
		"cuEventDestroy", func() result { return d.EventDestroy(h) })
	return h
}

// follow makes a stream wait for all work of another stream, without the host. The mark is an event without time for
// these two streams.
func (d *device) follow(stream, other int, mark handle) {
	d.do("cuEventRecord", func() result { return d.EventRecord(mark, d.streams[other]) })
	d.do("cuStreamWaitEvent", func() result { return d.StreamWaitEvent(d.streams[stream], mark, 0) })
}

// eventClock is the device's clock, in nanoseconds since its first base event.
//
// The driver returns the milliseconds between two events as float32. After four seconds its 24 bits resolve half a
// microsecond, as much as the clock itself. The eventClock therefore takes a new base event every few seconds and adds
// up the distances.
type eventClock struct {
	dev    *device
	stream handle
	now    handle // event for clock readings
	base   *base
	every  time.Duration
	taken  time.Time // host's time of the base
}

// base is a reference event. An event is timed by the base current at its enqueueing, which the device has passed long
// before.
type base struct {
	handle handle
	at     int64 // ns since the first base
}

// The resolution of a time, in ns: half a microsecond for each of two events, and rounding.
const resolution = 1200

const baseEvery = 2 * time.Second // the lifetime of a base

func newEventClock(d *device, stream handle) (*eventClock, error) {
	c := &eventClock{dev: d, stream: stream, every: baseEvery, now: d.newEvent(eventTimed)}
	return c, c.rebase()
}

// read reads the clock: it records an event on an idle stream and waits for it.
func (c *eventClock) read() (int64, error) {
	if time.Since(c.taken) >= c.every {
		if err := c.rebase(); err != nil {
			return 0, err
		}
	}
	if err := c.record(c.now); err != nil {
		return 0, err
	}
	return c.base.time(c.dev, c.now)
}

// rebase takes a new base.
func (c *eventClock) rebase() error {
	next := &base{handle: c.dev.newEvent(eventTimed)}
	err := c.record(next.handle)
	if err == nil && c.base != nil {
		next.at, err = c.base.time(c.dev, next.handle)
	}
	if err == nil {
		c.base = next
		c.taken = time.Now()
	}
	return err
}

// record enqueues an event and waits for it.
func (c *eventClock) record(h handle) error {
	c.dev.do("cuEventRecord", func() result { return c.dev.EventRecord(h, c.stream) })
	c.dev.do("cuEventSynchronize", func() result { return c.dev.EventSynchronize(h) })
	return c.dev.err
}

// time returns the time at which the device passed an event.
func (b *base) time(d *device, h handle) (int64, error) {
	ns, err := d.between(b.handle, h)
	return b.at + ns, err
}

// between returns the time between two events in nanoseconds.
func (d *device) between(from, to handle) (int64, error) {
	var ms float32
	if err := d.check("cuEventElapsedTime", d.EventElapsed(&ms, from, to)); err != nil {
		return 0, fmt.Errorf("reading the device's clock: %w", err)
	}
	return int64(float64(ms) * 1e6), nil
}
