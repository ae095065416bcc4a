package main

import (
	"context"
	"time"

	"gonum.org/v1/gonum/mat"
)

// sendBurst enqueues all requests while the device is held, and waits for the last one: the device always has work, and
// requests wait in its queues.
func sendBurst(e *engine, n int) {
	release := e.dev.hold()
	var last *event
	for range n {
		last = e.infer(context.Background(), mat.NewDense(rows, width, nil), mat.NewDense(rows, width, nil))
		e.queue.Poll() // does not wait
	}
	release()
	<-last.passed
}

// sendPaced enqueues a request after the answer to the one before and a pause of twice its duration: the device waits
// for the host.
func sendPaced(e *engine, n int) {
	for range n {
		begun := time.Now()
		done := e.infer(context.Background(), mat.NewDense(rows, width, nil), mat.NewDense(rows, width, nil))
		<-done.passed
		time.Sleep(2 * time.Since(begun)) // tokens, templates, images
		e.queue.Poll()
	}
}
