package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// MLP is a multi-layer perceptron. It keeps what its backward pass needs of the
// last forward pass, and is used by one goroutine at a time.
type MLP []*Linear

// NewMLP returns a perceptron with layers of the given widths, the input first.
// The same seed gives the same weights.
func NewMLP(seed uint64, widths ...int) MLP {
	rng := rand.New(rand.NewPCG(seed, 0))
	var m MLP
	for i, in := range widths[:len(widths)-1] {
		l := newLinear("mlp."+strconv.Itoa(i), in, widths[i+1])
		l.relu = i < len(widths)-2
		scale := math.Sqrt(2 / float64(in)) // keeps the variance through ReLU
		l.weights.Apply(func(_, _ int, _ float64) float64 { return scale * rng.NormFloat64() }, l.weights)
		m = append(m, l)
	}
	return m
}

// Forward returns the scores of each row of x.
func (m MLP) Forward(ctx context.Context, d *Device, x *mat.Dense) *mat.Dense {
	for _, l := range m {
		y := mat.NewDense(x.RawMatrix().Rows, len(l.bias), nil)
		d.MatMul(ctx, l.path, y, x, l.weights)
		d.AddBias(ctx, l.path, y, l.bias)
		if l.relu {
			d.ReLU(ctx, l.path, y)
		}
		l.input, l.output = x, y
		x = y
	}
	return x
}

// Backward sets the gradients of all layers, given that of the scores. It calls
// done with each layer, the last one first, as soon as its gradients are there.
func (m MLP) Backward(ctx context.Context, d *Device, dy *mat.Dense, done func(layer int)) {
	for i, l := range slices.Backward(m) {
		if l.relu {
			d.ReLUGrad(ctx, l.path, dy, l.output)
		}
		d.MatMul(ctx, l.path, l.weightGrads, l.input.T(), dy)
		d.BiasGrad(ctx, l.path, l.biasGrads, dy)
		done(i)
		if i > 0 { // nobody asks for the gradient of the images
			dx := mat.NewDense(l.input.RawMatrix().Rows, l.input.RawMatrix().Cols, nil)
			d.MatMul(ctx, l.path, dx, dy, l.weights.T())
			dy = dx
		}
	}
}

// Linear is a layer y = x·W + b, with a ReLU behind it when relu is set.
type Linear struct {
	path string
	relu bool

	// params holds the weights and then the bias, grads their gradients, so that
	// a layer is all-reduced and updated in one go. The others are views of them.
	params, grads        []float64
	weights, weightGrads *mat.Dense
	bias, biasGrads      []float64

	// input and output are those of the last forward pass.
	input, output *mat.Dense
}

func newLinear(path string, in, out int) *Linear {
	n := in * out
	l := &Linear{path: path, params: make([]float64, n+out), grads: make([]float64, n+out)}
	l.weights, l.bias = mat.NewDense(in, out, l.params[:n]), l.params[n:]
	l.weightGrads, l.biasGrads = mat.NewDense(in, out, l.grads[:n]), l.grads[n:]
	return l
}
