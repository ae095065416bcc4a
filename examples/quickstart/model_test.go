package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
)

// silentDevice records nothing.
func silentDevice() *Device {
	return &Device{id: "cpu:0", tracer: optrace.NewTracer(nil)}
}

// TestGradients compares the gradients of the backward pass with how much the
// loss changes when a parameter does.
func TestGradients(t *testing.T) {
	const rows, in, out = 5, 6, 3
	rng := rand.New(rand.NewPCG(3, 0))
	x := mat.NewDense(rows, in, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
	labels := []int{0, 2, 1, 1, 0}
	m, d := NewMLP(4, in, 7, 4, out), silentDevice()
	for _, l := range m.layers { // biases start at 0, where a mistake could hide
		for i := range l.bias {
			l.bias[i] = rng.NormFloat64() / 4
		}
	}
	probabilities := func() *mat.Dense {
		probs := m.Forward(t.Context(), d, x)
		d.Softmax(t.Context(), "", probs)
		return probs
	}
	loss := func() float64 { return d.CrossEntropy(t.Context(), "", probabilities(), labels) }

	probs := probabilities()
	d.CrossEntropyGrad(t.Context(), "", probs, labels)
	var order []int
	m.Backward(t.Context(), d, probs, func(layer int) { order = append(order, layer) })
	if fmt.Sprint(order) != "[2 1 0]" {
		t.Errorf("layers were done in the order %v", order)
	}

	nonzero := 0
	for _, l := range m.layers {
		for i := range l.params {
			const delta, tolerance = 1e-6, 1e-7
			before := l.params[i]
			l.params[i] = before + delta
			above := loss()
			l.params[i] = before - delta
			below := loss()
			l.params[i] = before
			want := (above - below) / (2 * delta)
			if math.Abs(l.grads[i]-want) > tolerance {
				t.Errorf("%s: gradient %d is %g, differences give %g", l.path, i, l.grads[i], want)
			}
			if want != 0 {
				nonzero++
			}
		}
	}
	if nonzero < 50 {
		t.Errorf("only %d gradients are not 0: the test shows little", nonzero)
	}
}

func TestSoftmaxOfLargeScores(t *testing.T) {
	x := mat.NewDense(1, 3, []float64{1000, 1000, -1000})
	silentDevice().Softmax(t.Context(), "", x)
	if got := x.RawRowView(0); got[0] != 0.5 || got[1] != 0.5 || got[2] != 0 {
		t.Errorf("softmax = %v", got)
	}
}
