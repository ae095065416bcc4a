package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// The streams of the device. Each runs what is enqueued in order, beside the others.
const (
	firstCompute = iota
	secondCompute
	copyEngine
	numStreams
)

// device runs functions on its streams, behind the host.
type device struct {
	begun   time.Time
	streams [numStreams]chan func()
	running sync.WaitGroup
}

func newDevice() *device {
	d := &device{begun: time.Now()}
	for i := range d.streams {
		d.streams[i] = make(chan func(), 1<<12) // enqueueing does not wait
		d.running.Go(func() {
			for run := range d.streams[i] {
				run()
			}
		})
	}
	return d
}

// close ends the device when it has got through everything.
func (d *device) close() {
	for _, s := range d.streams {
		close(s)
	}
	d.running.Wait()
}

// now reads the device's clock: nanoseconds since some time of its own, of which it has
// 80 in a million too many.
func (d *device) now() int64 {
	const origin, drift = 7_000_000_000_000, 1.00008
	return origin + int64(float64(time.Since(d.begun))*drift)
}

// run enqueues a kernel or a copy.
func (d *device) run(stream int, kernel func()) { d.streams[stream] <- kernel }

// event is a mark in a stream. It is an [optrace.Event].
type event struct {
	at     atomic.Int64 // 0 until the stream has got there
	passed chan struct{}
}

// Time returns what the device stamped the event with, and whether it has. A real
// device's events may also fail.
func (e *event) Time() (at int64, done bool, err error) { //nolint:unparam // of an interface
	at = e.at.Load()
	return at, at != 0, nil
}

// mark enqueues an event.
func (d *device) mark(stream int) *event {
	e := &event{passed: make(chan struct{})}
	d.run(stream, func() {
		e.at.Store(d.now())
		close(e.passed)
	})
	return e
}

// wait makes a stream wait for an event of another one. The host does not wait.
func (d *device) wait(stream int, e *event) { d.run(stream, func() { <-e.passed }) }

// hold keeps the device from what is enqueued until release is called, as another program
// that uses it would.
func (d *device) hold() (release func()) {
	free := make(chan struct{})
	for stream := range d.streams {
		d.run(stream, func() { <-free })
	}
	return func() { close(free) }
}
