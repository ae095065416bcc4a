package optrace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// The code that the README shows.

func Example_register() {
	dir, err := os.MkdirTemp("", "optrace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	record := func(ctx context.Context) error {
		exp, err := optrace.NewFileExporter("ops.jsonl")
		if err != nil {
			return err
		}
		proc, err := optrace.NewProcessor(exp)
		if err != nil {
			return err
		}
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
		defer tp.Shutdown(ctx)

		tr := optrace.NewTracer(tp)
		ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
		mm.In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
		return nil
	}
	if err := inDirectory(dir, func() error { return record(context.Background()) }); err != nil {
		panic(err)
	}
	f, err := os.Open(filepath.Join(dir, "ops.jsonl"))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for rec, err := range op.NewReader(f, "ops.jsonl").Records() {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.InputShapes, e.OutputShape, e.DType, e.MemoryBytes)
		}
	}
	// Output:
	// matmul cuda:0 [64x784 784x256] 64x256 f32 65536
}

func Example_beside() {
	dir, err := os.MkdirTemp("", "optrace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	otlp := tracetest.NewNoopExporter() // otlptracehttp.New(ctx) in a real program
	err = inDirectory(dir, func() error {
		ctx := context.Background()
		sdk, err := optrace.Setup("ops.jsonl",
			optrace.WithSpanExporter(otlp, optrace.WithForwardThreshold(time.Millisecond)))
		if err != nil {
			return err
		}
		defer sdk.Shutdown(ctx)
		tr := sdk.Tracer()
		ctx, request := otel.Tracer("app").Start(ctx, "POST /v1/predict")
		_, o := tr.Start(ctx, "relu", "cuda:0")
		o.End()
		request.End()
		return nil
	})
	fmt.Println(err)
	// Output: <nil>
}

// inDirectory calls f with dir as the working directory.
func inDirectory(dir string, f func() error) error {
	before, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	defer os.Chdir(before)
	return f()
}
