package main

// ring connects n devices, each with its right neighbour.
type ring struct {
	// links[i] leads from device i to device i+1, the last one to device 0. It
	// holds one message, so that all devices can send before any receives.
	links []chan []float64
}

func newRing(n int) *ring {
	r := &ring{links: make([]chan []float64, n)}
	for i := range r.links {
		r.links[i] = make(chan []float64, 1)
	}
	return r
}

// allReduce replaces data by the sum over all devices. Every device calls it
// with as much data, and each call matches one call of every other device.
//
// The data is cut into as many parts as there are devices. In the first half
// of the way each part travels around the ring and is added up, in the second
// the sums travel on to everyone. A device sends 2(n−1)/n of its data in
// total, however many devices there are.
//
//	device 0       a0 b0   sends a →          a0    b0+b1  sends b →          a0+a1 b0+b1
//	device 1       a1 b1   sends b →          a0+a1 b1     sends a →          a0+a1 b0+b1
func (r *ring) allReduce(device int, data []float64) {
	n := len(r.links)
	right, left := r.links[device], r.links[mod(device-1, n)]
	part := func(i int) []float64 {
		i = mod(i, n)
		return data[i*len(data)/n : (i+1)*len(data)/n]
	}
	exchange := func(send, receive int, take func(dst, src []float64)) {
		// The message is a copy: the sender may get new data for the part while
		// its neighbour still reads.
		right <- append([]float64(nil), part(send)...)
		take(part(receive), <-left)
	}
	for i := range n - 1 {
		exchange(device-i, device-i-1, add)
	}
	for i := range n - 1 {
		exchange(device-i+1, device-i, func(dst, src []float64) { copy(dst, src) })
	}
}

func add(dst, src []float64) {
	for i, v := range src {
		dst[i] += v
	}
}

// mod returns i modulo n, also for negative i.
func mod(i, n int) int { return (i%n + n) % n }
