package main

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Streams of a device. Kernels on different streams run in parallel.
const (
	computeStream = iota
	communicationStream
)

// Device runs kernels. It is the only part of the engine that computes and is instrumented. Code built on it is traced
// without changes.
type Device struct {
	id     string
	tracer *optrace.Tracer
}

// start starts an operation of the layer at path. Names have few distinct values. Attributes distinguish the calls.
func (d *Device) start(ctx context.Context, name, path string) optrace.Op {
	_, o := d.tracer.Start(ctx, name, d.id) // the context is for nested operations
	return o.DType(op.F64).Path(path).Stream(computeStream)
}

func dims(m mat.Matrix) []int64 {
	rows, cols := m.Dims()
	return []int64{int64(rows), int64(cols)}
}

// MatMul sets dst to a·b.
func (d *Device) MatMul(ctx context.Context, path string, dst *mat.Dense, a, b mat.Matrix) {
	o := d.start(ctx, "matmul", path)
	dst.Mul(a, b)
	m, k := a.Dims()
	_, n := b.Dims()
	o.In(dims(a)...).In(dims(b)...).Out(dims(dst)...).FLOPs(2 * int64(m) * int64(k) * int64(n)).End()
}

// AddBias adds bias to each row of x.
func (d *Device) AddBias(ctx context.Context, path string, x *mat.Dense, bias []float64) {
	o := d.start(ctx, "bias_add", path)
	for i := range x.RawMatrix().Rows {
		floats.Add(x.RawRowView(i), bias)
	}
	o.In(dims(x)...).In(int64(len(bias))).Out(dims(x)...).End()
}

// BiasGrad sets grad to the sum of the rows of dy.
func (d *Device) BiasGrad(ctx context.Context, path string, grad []float64, dy *mat.Dense) {
	o := d.start(ctx, "bias_grad", path)
	clear(grad)
	for i := range dy.RawMatrix().Rows {
		floats.Add(grad, dy.RawRowView(i))
	}
	o.In(dims(dy)...).Out(int64(len(grad))).End()
}

// ReLU sets the negative elements of x to zero.
func (d *Device) ReLU(ctx context.Context, path string, x *mat.Dense) {
	o := d.start(ctx, "relu", path)
	x.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, x)
	o.In(dims(x)...).Out(dims(x)...).End()
}

// ReLUGrad sets the elements of dy to zero where ReLU's result y is zero.
func (d *Device) ReLUGrad(ctx context.Context, path string, dy, y *mat.Dense) {
	o := d.start(ctx, "relu_grad", path)
	dy.Apply(func(i, j int, v float64) float64 {
		if y.At(i, j) == 0 {
			return 0
		}
		return v
	}, dy)
	o.In(dims(dy)...).In(dims(y)...).Out(dims(dy)...).End()
}

// Softmax turns each row of x into probabilities.
func (d *Device) Softmax(ctx context.Context, path string, x *mat.Dense) {
	o := d.start(ctx, "softmax", path)
	for i := range x.RawMatrix().Rows {
		row := x.RawRowView(i)
		largest := slices.Max(row) // prevents overflow
		for j, v := range row {
			row[j] = math.Exp(v - largest)
		}
		floats.Scale(1/floats.Sum(row), row)
	}
	o.In(dims(x)...).Out(dims(x)...).End()
}

// CrossEntropy returns the mean of −log of each label's probability.
func (d *Device) CrossEntropy(ctx context.Context, path string, probs *mat.Dense, labels []int) float64 {
	o := d.start(ctx, "cross_entropy", path)
	loss := 0.0
	for i, label := range labels {
		loss -= math.Log(probs.At(i, label))
	}
	loss /= float64(len(labels))
	// Out without dimensions is a scalar. The inputs have different types.
	o.In(dims(probs)...).In(int64(len(labels))).Out().Attrs(tensorconv.InputDTypes(op.F64, op.I64)).End()
	return loss
}

// CrossEntropyGrad turns probabilities into the gradient of CrossEntropy with respect to Softmax's input.
func (d *Device) CrossEntropyGrad(ctx context.Context, path string, probs *mat.Dense, labels []int) {
	o := d.start(ctx, "cross_entropy_grad", path)
	for i, label := range labels {
		probs.Set(i, label, probs.At(i, label)-1)
	}
	probs.Scale(1/float64(len(labels)), probs)
	o.In(dims(probs)...).In(int64(len(labels))).Out(dims(probs)...).Attrs(tensorconv.InputDTypes(op.F64, op.I64)).End()
}

// Names of copies, by direction.
const (
	toDevice = "Memcpy HtoD"
	toHost   = "Memcpy DtoH"
)

// Copy returns a copy of a matrix.
func (d *Device) Copy(ctx context.Context, name, path string, m *mat.Dense) *mat.Dense {
	o := d.start(ctx, name, path).Kind(op.KindMemory)
	c := mat.DenseCopyOf(m)
	o.In(dims(m)...).Out(dims(c)...).End()
	return c
}
