// Command owntracer adds optrace to a program with its own provider, tracer and spans. An operation needs two things: a
// span with descriptive attributes, and a processor.
//
// Usage:
//
//	go run ./owntracer | go run -C .. ./cmd/optrace report -
//
// The entries go to standard output.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "owntracer:", err)
		os.Exit(1)
	}
}

// run multiplies matrices and writes the operations to out.
func run(ctx context.Context, out io.Writer) (err error) {
	// Map the engine's own attributes: its placement is the device, and entries keep the cache attribute.
	var mapping attr.Mapping
	mapping.Alias("engine.placement", string(tensorconv.DeviceIDKey))
	mapping.Keep("engine.cache")

	exporter, err := optrace.NewExporter(out, optrace.WithMapping(&mapping))
	if err != nil {
		return err
	}
	processor, err := optrace.NewProcessor(exporter)
	if err != nil {
		return errors.Join(err, exporter.Shutdown(ctx))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	defer func() { err = errors.Join(err, provider.Shutdown(ctx)) }()

	e := &engine{tracer: provider.Tracer("example.com/engine")}
	ctx, span := e.tracer.Start(ctx, "generate") // no tensor.op.name: a span above operations
	defer span.End()
	x := mat.NewDense(4, 8, nil)
	for step := range int64(2) {
		if err := e.matmul(ctx, step, x, x.T()); err != nil {
			return err
		}
	}
	if e.matmul(ctx, 2, x, x) == nil {
		return errors.New("matmul took shapes that do not match")
	}
	return nil
}

type engine struct{ tracer trace.Tracer }

func (e *engine) matmul(ctx context.Context, step int64, a, b mat.Matrix) error {
	_, span := e.tracer.Start(ctx, "matmul")
	defer span.End()
	// One call with all attributes costs less than start options. The step is an attribute: optrace.ContextWithStep is
	// for optrace's own tracer.
	span.SetAttributes(
		tensorconv.OpName("matmul"), tensorconv.Step(step), tensorconv.InputShapes(dims(a), dims(b)),
		tensorconv.DType(op.F64), attribute.String("engine.placement", "cpu:0"),
		attribute.String("engine.cache", "miss"),
	)
	if dims(a)[1] != dims(b)[0] {
		err := fmt.Errorf("shapes do not match: %v and %v", dims(a), dims(b))
		span.SetStatus(codes.Error, err.Error()) // becomes the entry's error
		return err
	}
	var c mat.Dense
	c.Mul(a, b)
	span.SetAttributes(tensorconv.OutputShape(dims(&c)...))
	return nil
}

func dims(m mat.Matrix) []int64 {
	rows, cols := m.Dims()
	return []int64{int64(rows), int64(cols)}
}
