package main

import (
	"context"
	"time"

	"gonum.org/v1/gonum/mat"
)

// sendBurst enqueues all requests while something else has the device, and then waits for
// the last one: the device is never out of work, and requests wait in its queues.
func sendBurst(e *engine, n int) {
	release := e.dev.hold()
	var last *event
	for range n {
		last = e.infer(context.Background(), mat.NewDense(rows, width, nil), mat.NewDense(rows, width, nil))
		e.queue.Poll() // records what the device has got through, without waiting
	}
	release()
	<-last.passed
}

// sendPaced enqueues a request when the one before is answered and the host has prepared
// it, which takes twice as long as the device did: the device waits for the host.
func sendPaced(e *engine, n int) {
	for range n {
		begun := time.Now()
		done := e.infer(context.Background(), mat.NewDense(rows, width, nil), mat.NewDense(rows, width, nil))
		<-done.passed
		time.Sleep(2 * time.Since(begun)) // tokens, templates, images: whatever hosts do
		e.queue.Poll()
	}
}
