package main

import (
	"fmt"
)

// The network: each layer multiplies a batch of n×n matrices by its weights.
const batch, layers = 8, 2

// network is the weights on the device, and what each compute stream works on.
type network struct {
	dev     *device
	n       int
	weights []float32 // of every layer
	lanes   [numCompute]*lane
	copied  handle // a mark in the copy stream
}

// lane is the memory of a compute stream.
type lane struct {
	input, result []float32 // pinned
	first, last   address   // where the input is copied to, and the result from
	products      [layers]*product
	mark          handle // a mark in the stream
}

func newNetwork(d *device, n int) (*network, error) {
	net := &network{dev: d, n: n}
	var err error
	if net.copied, err = d.newEvent(eventUntimed); err != nil {
		return nil, err
	}
	if net.weights, err = d.pinned(n * n); err != nil {
		return nil, err
	}
	for i := range net.weights {
		net.weights[i] = float32((i/n*5+i%n*3)%7 - 3)
	}
	weights, err := d.memory(n * n)
	if err != nil {
		return nil, err
	}
	if err := d.copyIn(copyStream, weights, net.weights); err != nil {
		return nil, err
	}
	if err := d.synchronize(copyStream); err != nil {
		return nil, err
	}
	for i := range net.lanes {
		if net.lanes[i], err = newLane(d, weights, n); err != nil {
			return nil, err
		}
	}
	return net, nil
}

func newLane(d *device, weights address, n int) (*lane, error) {
	l := &lane{}
	size := batch * n * n
	var err error
	if l.input, err = d.pinned(size); err != nil {
		return nil, err
	}
	for i := range l.input {
		l.input[i] = float32((i*7+i/n*3)%11 - 5)
	}
	if l.result, err = d.pinned(size); err != nil {
		return nil, err
	}
	x, err := d.memory(size)
	if err != nil {
		return nil, err
	}
	y, err := d.memory(size)
	if err != nil {
		return nil, err
	}
	l.first = x
	for i := range l.products {
		l.products[i] = newProduct(x, weights, y, n, batch)
		x, y = y, x
	}
	l.last = x
	l.mark, err = d.newEvent(eventUntimed)
	return l, err
}

// checkedRows is how many rows of each matrix are checked at most.
const checkedRows = 32

// check multiplies once on every compute stream and compares the result with the host's. It
// returns how many numbers it compared. Input and weights are small integers, so that
// sums are exact, in whatever order.
func (net *network) check() (compared int, err error) {
	for stream, l := range net.lanes {
		first := l.products[0]
		if err := net.dev.copyIn(stream, first.a, l.input); err != nil {
			return 0, err
		}
		if err := net.dev.multiply(stream, first); err != nil {
			return 0, err
		}
		if err := net.dev.copyOut(stream, l.result, first.c); err != nil {
			return 0, err
		}
		if err := net.dev.synchronize(stream); err != nil {
			return 0, err
		}
		for row := 0; row < batch*net.n; row += max(1, net.n/checkedRows) {
			at := row * net.n
			want := net.multiplyRow(l.input[at : at+net.n])
			for column, got := range l.result[at : at+net.n] {
				if got != want[column] {
					return compared, fmt.Errorf("the device's product is wrong: %v at row %d, column %d of stream %d; the host says %v",
						got, row, column, stream, want[column])
				}
				compared++
			}
		}
	}
	return compared, nil
}

func (net *network) multiplyRow(row []float32) []float32 {
	sums := make([]float32, net.n)
	for k, x := range row {
		for column, w := range net.weights[k*net.n : (k+1)*net.n] {
			sums[column] += x * w
		}
	}
	return sums
}
