package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// engine is an engine with tracing of its own.
type engine struct {
	tracer trace.Tracer
}

var errShape = errors.New("shapes do not match")

// attention returns softmax(q·kᵀ/√width)·v. The spans of its parts are its children. Its self time is the rest.
func (e *engine) attention(ctx context.Context, step int64, q, k, v mat.Matrix) (y *mat.Dense, err error) {
	ctx, span := e.tracer.Start(ctx, "attention")
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, err.Error()) // becomes the entry's error
		}
		span.End()
	}()
	span.SetAttributes(
		tensorconv.OpName("attention"), tensorconv.Step(step), placement, attribute.String("engine.cache", "miss"),
		tensorconv.InputShapes(dims(q), dims(k), dims(v)),
	)

	scores, err := e.matmul(ctx, step, q, k.T())
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	_, width := q.Dims()
	scores.Scale(1/math.Sqrt(float64(width)), scores)
	e.softmax(ctx, step, scores)
	y, err = e.matmul(ctx, step, scores, v)
	if err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	span.SetAttributes(tensorconv.OutputShape(dims(y)...), tensorconv.DType(op.F64))
	return y, nil
}

// placement is an attribute of the engine.
var placement = attribute.String("engine.placement", "cpu:0")

func (e *engine) matmul(ctx context.Context, step int64, a, b mat.Matrix) (*mat.Dense, error) {
	_, span := e.tracer.Start(ctx, "matmul")
	defer span.End()
	m, k := a.Dims()
	rows, n := b.Dims()
	if k != rows {
		err := fmt.Errorf("%w: %v and %v", errShape, dims(a), dims(b))
		span.SetAttributes(
			tensorconv.OpName("matmul"), tensorconv.Step(step), placement, tensorconv.InputShapes(dims(a), dims(b)))
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	var c mat.Dense
	c.Mul(a, b)
	// One call with all attributes costs less than start options.
	span.SetAttributes(
		tensorconv.OpName("matmul"), tensorconv.Step(step), placement,
		tensorconv.InputShapes(dims(a), dims(b)), tensorconv.OutputShape(dims(&c)...), tensorconv.DType(op.F64),
		tensorconv.OpFLOPCount(2*int64(m)*int64(k)*int64(n)),
	)
	return &c, nil
}

func (e *engine) softmax(ctx context.Context, step int64, x *mat.Dense) {
	_, span := e.tracer.Start(ctx, "softmax")
	defer span.End()
	span.SetAttributes(
		tensorconv.OpName("softmax"), tensorconv.Step(step), placement,
		tensorconv.InputShapes(dims(x)), tensorconv.OutputShape(dims(x)...), tensorconv.DType(op.F64),
	)
	rows, _ := x.Dims()
	for i := range rows {
		row := x.RawRowView(i)
		sum := 0.0
		for j, v := range row {
			row[j] = math.Exp(v)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
}

func dims(m mat.Matrix) []int64 {
	rows, cols := m.Dims()
	return []int64{int64(rows), int64(cols)}
}
