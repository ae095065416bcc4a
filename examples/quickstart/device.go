package main

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The queues of a device. Kernels on different queues run at the same time.
const (
	computeStream = iota
	communicationStream
)

// Device runs kernels. It is the only part of the engine that computes, and so
// the only part that is instrumented: what is built on it is traced for free.
type Device struct {
	id     string
	tracer *optrace.Tracer
}

// start starts the operation name for the layer at path. Names have few
// distinct values; what distinguishes the calls are attributes.
func (d *Device) start(ctx context.Context, name, path string) optrace.Op {
	// The context returned is for operations that consist of others. Kernels do
	// not.
	_, o := d.tracer.Start(ctx, name, d.id)
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
	rows, _ := x.Dims()
	for i := range rows {
		row := x.RawRowView(i)
		for j, b := range bias {
			row[j] += b
		}
	}
	o.In(dims(x)...).In(int64(len(bias))).Out(dims(x)...).End()
}

// BiasGrad sets grad to the sum of the rows of dy.
func (d *Device) BiasGrad(ctx context.Context, path string, grad []float64, dy *mat.Dense) {
	o := d.start(ctx, "bias_grad", path)
	clear(grad)
	rows, _ := dy.Dims()
	for i := range rows {
		for j, g := range dy.RawRowView(i) {
			grad[j] += g
		}
	}
	o.In(dims(dy)...).Out(int64(len(grad))).End()
}

// ReLU sets the negative elements of x to zero.
func (d *Device) ReLU(ctx context.Context, path string, x *mat.Dense) {
	o := d.start(ctx, "relu", path)
	rows, _ := x.Dims()
	for i := range rows {
		row := x.RawRowView(i)
		for j, v := range row {
			row[j] = max(v, 0)
		}
	}
	o.In(dims(x)...).Out(dims(x)...).End()
}

// ReLUGrad sets the elements of dy to zero where y, which ReLU made, is zero.
func (d *Device) ReLUGrad(ctx context.Context, path string, dy, y *mat.Dense) {
	o := d.start(ctx, "relu_grad", path)
	rows, _ := dy.Dims()
	for i := range rows {
		grad := dy.RawRowView(i)
		for j, v := range y.RawRowView(i) {
			if v == 0 {
				grad[j] = 0
			}
		}
	}
	o.In(dims(dy)...).In(dims(y)...).Out(dims(dy)...).End()
}

// Softmax makes probabilities of each row of x.
func (d *Device) Softmax(ctx context.Context, path string, x *mat.Dense) {
	o := d.start(ctx, "softmax", path)
	rows, _ := x.Dims()
	for i := range rows {
		row := x.RawRowView(i)
		largest := slices.Max(row) // keeps exp from overflowing
		sum := 0.0
		for j, v := range row {
			row[j] = math.Exp(v - largest)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
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
	// Out without dimensions is a scalar. The inputs are of different types.
	o.In(dims(probs)...).In(int64(len(labels))).Out().Attrs(tensorconv.InputDTypes(op.F64, op.I64)).End()
	return loss
}

// CrossEntropyGrad turns probabilities into the gradient of CrossEntropy with
// respect to the input of Softmax.
func (d *Device) CrossEntropyGrad(ctx context.Context, path string, probs *mat.Dense, labels []int) {
	o := d.start(ctx, "cross_entropy_grad", path)
	for i, label := range labels {
		probs.Set(i, label, probs.At(i, label)-1)
	}
	probs.Scale(1/float64(len(labels)), probs)
	o.In(dims(probs)...).In(int64(len(labels))).Out(dims(probs)...).Attrs(tensorconv.InputDTypes(op.F64, op.I64)).End()
}

// CopyIn returns a copy on the device of a matrix of the host.
func (d *Device) CopyIn(ctx context.Context, path string, m *mat.Dense) *mat.Dense {
	return d.copy(ctx, "Memcpy HtoD", path, m)
}

// CopyOut returns a copy on the host of a matrix of the device.
func (d *Device) CopyOut(ctx context.Context, path string, m *mat.Dense) *mat.Dense {
	return d.copy(ctx, "Memcpy DtoH", path, m)
}

func (d *Device) copy(ctx context.Context, name, path string, m *mat.Dense) *mat.Dense {
	// These names are known to be copies, and in which direction. Other names are
	// taken for arithmetic unless OpKind says what they are.
	o := d.start(ctx, name, path).Kind(op.KindMemory)
	c := mat.DenseCopyOf(m)
	o.In(dims(m)...).Out(dims(c)...).End()
	return c
}
