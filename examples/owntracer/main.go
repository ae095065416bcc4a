// Command owntracer adds optrace to a program with its own tracer and spans. An operation needs two things: a span with
// descriptive attributes, and a processor.
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

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "owntracer:", err)
		os.Exit(1)
	}
}

// run computes attention a few times and writes the operations to out.
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
	x.Apply(func(i, j int, _ float64) float64 { return float64(i-j) / 8 }, x)
	for step := range 2 {
		// The step is an attribute. optrace.ContextWithStep is for optrace's own tracer.
		if x, err = e.attention(ctx, int64(step), x, x, x); err != nil {
			return err
		}
	}
	if _, err := e.attention(ctx, 2, x, x.Slice(0, 4, 0, 3), x); err == nil {
		return errors.New("attention took keys of another width")
	}
	return nil
}
