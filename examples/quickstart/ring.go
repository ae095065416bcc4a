package main

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// ring connects devices: its i-th channel leads from device i to the next one, from
// the last one to the first. It holds one message, so that all can send before any
// receives.
type ring []chan []float64

func newRing(n int) ring {
	r := make(ring, n)
	for i := range r {
		r[i] = make(chan []float64, 1)
	}
	return r
}

// allReduce replaces data by the sum over all devices. Every device calls it
// with as much data, and each call matches one call of every other device. The
// data of each device travels around the ring; all add in the same order, so that
// their sums are the same.
func (r ring) allReduce(device int, data []float64) {
	n := len(r)
	all := make([][]float64, n)
	at := device
	all[at] = slices.Clone(data) // others read it while data changes
	for range n - 1 {
		r[device] <- all[at]
		at = (at + n - 1) % n
		all[at] = <-r[(device+n-1)%n]
	}
	clear(data)
	for _, part := range all {
		floats.Add(data, part)
	}
}
