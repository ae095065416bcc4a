package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// Streams of the device. Each runs its operations in order, in parallel with the others.
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

// close waits for all streams and ends the device.
func (d *device) close() {
	for _, s := range d.streams {
		close(s)
	}
	d.running.Wait()
}

// now reads the device's clock: nanoseconds since an arbitrary origin, 80 ppm too fast.
func (d *device) now() int64 {
	const origin = 7_000_000_000_000
	return origin + int64(float64(time.Since(d.begun))*1.00008)
}

// run enqueues a kernel or a copy.
func (d *device) run(stream int, kernel func()) { d.streams[stream] <- kernel }

// event is a mark in a stream. It implements [optrace.Event].
type event struct {
	at     atomic.Int64 // 0 until the stream has got there
	passed chan struct{}
}

// Time returns the device's stamp, and whether the device has reached the event. Events of a real device may also fail.
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

// wait makes a stream wait for an event of another stream, without the host.
func (d *device) wait(stream int, e *event) { d.run(stream, func() { <-e.passed }) }

// hold stops all streams until release is called, like another program that uses the device.
func (d *device) hold() (release func()) {
	free := make(chan struct{})
	for stream := range d.streams {
		d.run(stream, func() { <-free })
	}
	return func() { close(free) }
}
