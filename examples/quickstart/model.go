package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// MLP is a multi-layer perceptron. It keeps values of the last forward pass for its backward pass. One goroutine uses
// it at a time.
type MLP []*Linear

// NewMLP returns a perceptron with layers of the given widths, from the input. A seed determines the weights.
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
		l.input = x
		l.output = y
		x = y
	}
	return x
}

// Backward sets the gradients of all layers from the gradient dy of the scores. It calls done for each layer, from the
// last one, as soon as its gradients are ready.
func (m MLP) Backward(ctx context.Context, d *Device, dy *mat.Dense, done func(layer int)) {
	for i, l := range slices.Backward(m) {
		if l.relu {
			d.ReLUGrad(ctx, l.path, dy, l.output)
		}
		d.MatMul(ctx, l.path, l.weightGrads, l.input.T(), dy)
		d.BiasGrad(ctx, l.path, l.biasGrads, dy)
		done(i)
		if i > 0 { // the gradient of the images is not needed
			dx := mat.NewDense(l.input.RawMatrix().Rows, l.input.RawMatrix().Cols, nil)
			d.MatMul(ctx, l.path, dx, dy, l.weights.T())
			dy = dx
		}
	}
}

// Linear is a layer y = x·W + b, followed by ReLU if relu is set.
type Linear struct {
	path string
	relu bool

	// params holds the weights and the bias, grads their gradients, so that one call reduces or updates a layer. The
	// other fields are views of them.
	params, grads        []float64
	weights, weightGrads *mat.Dense
	bias, biasGrads      []float64

	// input and output belong to the last forward pass.
	input, output *mat.Dense
}

func newLinear(path string, in, out int) *Linear {
	n := in * out
	l := &Linear{path: path, params: make([]float64, n+out), grads: make([]float64, n+out)}
	l.weights = mat.NewDense(in, out, l.params[:n])
	l.bias = l.params[n:]
	l.weightGrads = mat.NewDense(in, out, l.grads[:n])
	l.biasGrads = l.grads[n:]
	return l
}
