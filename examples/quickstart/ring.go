package main

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// ring connects devices: channel i leads from device i to the next one, and from the last one to the first. A channel
// holds one message, so that all devices can send before any receives.
type ring []chan []float64

func newRing(n int) ring {
	r := make(ring, n)
	for i := range r {
		r[i] = make(chan []float64, 1)
	}
	return r
}

// allReduce replaces data by the sum over all devices. Each device calls it with data of the same length. The data of
// all devices travel around the ring. All devices add in the same order and get equal sums.
func (r ring) allReduce(device int, data []float64) {
	n := len(r)
	all := make([][]float64, n)
	at := device
	all[at] = slices.Clone(data) // other devices read it while data changes
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
