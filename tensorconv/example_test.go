package tensorconv_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/tensorconv"
)

// An engine with its own tracer sets the attributes itself.
func Example() {
	var ops bytes.Buffer
	exp, err := optrace.NewExporter(&ops)
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp))

	_, span := tp.Tracer("engine").Start(context.Background(), "matmul")
	span.SetAttributes(
		tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.DType(op.F16),
		tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}), tensorconv.OutputShape(64, 256))
	span.End()

	if err := tp.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	for rec, err := range entries.NewReader(&ops, "ops").Records() {
		if err != nil {
			log.Fatal(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Printf("%s on %s: %v -> %v, %v bytes\n", e.Operation, e.DeviceID, e.InputShapes, e.OutputShape,
				e.MemoryBytes)
		}
	}
	// Output:
	// matmul on cuda:0: [64x784 784x256] -> 64x256, 32768 bytes
}
