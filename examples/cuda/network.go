package main

import "fmt"

// The network: each layer multiplies a batch of n×n matrices by its weights.
const batch, layers = 8, 2

// network holds the weights on the device and the memory of each compute stream.
type network struct {
	dev     *device
	n       int
	weights []float32 // shared by all layers
	lanes   [numCompute]*lane
	copied  handle // a mark in the copy stream
}

// lane is the memory of a compute stream.
type lane struct {
	input, result []float32 // pinned
	first, last   address   // memory of the input and the result
	products      [layers]*product
	mark          handle // a mark in the stream
}

func newNetwork(d *device, n int) *network {
	net := &network{dev: d, n: n, copied: d.newEvent(eventUntimed), weights: d.pinned(n * n)}
	for i := range net.weights {
		net.weights[i] = float32((i/n*5+i%n*3)%7 - 3)
	}
	weights := d.memory(n * n)
	d.copyIn(copyStream, weights, net.weights)
	d.synchronize(copyStream)
	for i := range net.lanes {
		net.lanes[i] = newLane(d, weights, n)
	}
	return net
}

func newLane(d *device, weights address, n int) *lane {
	size := batch * n * n
	l := &lane{input: d.pinned(size), result: d.pinned(size), mark: d.newEvent(eventUntimed)}
	for i := range l.input {
		l.input[i] = float32((i*7+i/n*3)%11 - 5)
	}
	x := d.memory(size)
	y := d.memory(size)
	l.first = x
	for i := range l.products {
		l.products[i] = newProduct(x, weights, y, n, batch)
		x, y = y, x
	}
	l.last = x
	return l
}

const checkedRows = 32 // bounds the checked rows of each matrix

// check compares one product on every compute stream with the host's and returns the number of compared numbers. Inputs
// and weights are small integers, so that sums are exact in any order.
func (net *network) check() (compared int, err error) {
	for stream, l := range net.lanes {
		first := l.products[0]
		net.dev.copyIn(stream, first.a, l.input)
		net.dev.multiply(stream, first)
		net.dev.copyOut(stream, l.result, first.c)
		if net.dev.synchronize(stream); net.dev.err != nil {
			return 0, net.dev.err
		}
		for row := 0; row < batch*net.n; row += max(1, net.n/checkedRows) {
			at := row * net.n
			want := net.multiplyRow(l.input[at : at+net.n])
			for column, got := range l.result[at : at+net.n] {
				if got != want[column] {
					return compared, fmt.Errorf("wrong product of stream %d: %v at row %d, column %d, want %v",
						stream, got, row, column, want[column])
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
