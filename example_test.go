package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/tensorconv"
)

// printEntries prints an exporter's output without times and ids.
func printEntries(r io.Reader) {
	for rec, err := range entries.NewReader(r, "ops").Records() {
		switch {
		case err != nil:
			log.Print(err)
		case rec.Entry != nil:
			e := rec.Entry
			fmt.Printf("%s on %s: %v -> %v, %v bytes", e.Operation, e.DeviceID, e.InputShapes, e.OutputShape,
				e.MemoryBytes)
			if e.Step.Known {
				fmt.Printf(", step %v", e.Step)
			}
			if e.Failed {
				fmt.Printf(", failed: %s", e.Error)
			}
			fmt.Println()
		case rec.Span != nil:
			fmt.Printf("below %s\n", rec.Span.Name)
		}
	}
}

// An exporter alone, behind a processor of the SDK.
func ExampleNewExporter() {
	var ops bytes.Buffer
	exp, err := optrace.NewExporter(&ops)
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp))
	_, relu := optrace.NewTracer(tp).Start(context.Background(), "relu", "cpu")
	relu.In(8).Out(8).End()
	if err := tp.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	printEntries(&ops)
	fmt.Printf("%+v\n", exp.Stats().Written)
	// Output:
	// relu on cpu: [8] -> 8, 64 bytes
	// 1
}

// A processor leaves out cheap operations and counts losses.
func ExampleProcessor() {
	var ops bytes.Buffer
	exp, err := optrace.NewExporter(&ops)
	if err != nil {
		log.Fatal(err)
	}
	proc, err := optrace.NewProcessor(exp,
		optrace.WithPolicy(optrace.PolicyDropOldest),
		optrace.WithMaxBytes(16<<20),
		optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool { return s.Name() != "reshape" }))
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer := optrace.NewTracer(tp)
	for _, name := range []string{"conv", "reshape", "softmax"} {
		_, o := tracer.Start(context.Background(), name, "cpu")
		o.Out(4, 2).End()
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	printEntries(&ops)
	st := proc.Stats()
	fmt.Printf("recorded %d, written %d, dropped %d, skipped %d\n", st.Recorded, st.Written, st.Dropped, st.Skipped)
	// Unordered output:
	// conv on cpu: [] -> 4x2, 64 bytes
	// softmax on cpu: [] -> 4x2, 64 bytes
	// recorded 2, written 2, dropped 0, skipped 1
}

// Operations of a training loop: nested, with steps, a scalar result, an error.
func ExampleTracer() {
	var ops bytes.Buffer
	tp, _, shutdown := toBuffer(&ops)
	tracer := optrace.NewTracer(tp)

	for step := range int64(2) {
		ctx := optrace.ContextWithStep(context.Background(), step)
		_, loss := tracer.Start(ctx, "mean", "cuda:0")
		loss.In(64, 10).Out().DType(op.F32).End()
	}
	_, reduce := tracer.Start(context.Background(), "all_reduce", "cuda:0")
	reduce.Attrs(tensorconv.CollectiveGroupName("dp"), tensorconv.CollectiveGroupSize(8)).
		Err(errors.New("peer 3 is gone")).End()

	shutdown()
	printEntries(&ops)
	// Unordered output:
	// mean on cuda:0: [64x10] -> scalar, 4 bytes, step 0
	// mean on cuda:0: [64x10] -> scalar, 4 bytes, step 1
	// all_reduce on cuda:0: [] -> ?, unknown bytes, failed: peer 3 is gone
}

// A prepared operation costs as much as its span.
func ExampleTracer_Prepare() {
	var ops bytes.Buffer
	tp, _, shutdown := toBuffer(&ops)
	matmul, err := optrace.NewTracer(tp).Prepare(optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.BF16, Inputs: []op.Shape{{64, 784}, {784, 256}},
		Output: op.Shape{64, 256}, FLOPs: op.Known(2 * 64 * 784 * 256),
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		_, o := matmul.Start(context.Background())
		o.End()
	}
	shutdown()
	printEntries(&ops)
	// Unordered output:
	// matmul on cuda:0: [64x784 784x256] -> 64x256, 32768 bytes
	// matmul on cuda:0: [64x784 784x256] -> 64x256, 32768 bytes
}

// A graph executor puts its operations into a Recorder and emits them after each iteration. It makes no spans.
func ExampleProcessor_Recorder() {
	var ops bytes.Buffer
	_, proc, shutdown := toBuffer(&ops)
	rec := proc.Recorder(context.Background())
	for step := range int64(2) {
		rec.Step(step)
		rec.Begin("matmul", "cuda:0").In(64, 784).In(784, 10).Out(64, 10).DType(op.F32)
		// Multiply the matrices here.
		rec.Begin("softmax", "cuda:0").In(64, 10).Out(64, 10).DType(op.F32) // ends the product
		rec.Finish()
	}
	shutdown()
	printEntries(&ops)
	// Unordered output:
	// matmul on cuda:0: [64x784 784x10] -> 64x10, 2560 bytes, step 0
	// softmax on cuda:0: [64x10] -> 64x10, 2560 bytes, step 0
	// matmul on cuda:0: [64x784 784x10] -> 64x10, 2560 bytes, step 1
	// softmax on cuda:0: [64x10] -> 64x10, 2560 bytes, step 1
}

// A mapping reads attributes of other instrumentation.
func ExampleWithMapping() {
	var m attr.Mapping
	m.Alias("engine.kernel", attrkey.Name)
	m.Alias("engine.out", attrkey.OutputShape)
	var ops bytes.Buffer
	exp, err := optrace.NewExporter(&ops, optrace.WithMapping(&m))
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp))
	_, span := tp.Tracer("engine").Start(context.Background(), "launch")
	span.SetAttributes(attribute.String("engine.kernel", "gemm"), attribute.String("engine.out", "64x256"),
		tensorconv.DeviceID("cuda:1"))
	span.End()
	printEntries(&ops)
	// Output:
	// gemm on cuda:1: [] -> 64x256, 131072 bytes
}

// toBuffer returns a provider and its processor. Its shutdown writes the operations to ops.
func toBuffer(ops *bytes.Buffer) (tp *sdktrace.TracerProvider, proc *optrace.Processor, shutdown func()) {
	exp, err := optrace.NewExporter(ops)
	if err != nil {
		log.Fatal(err)
	}
	proc, err = optrace.NewProcessor(exp)
	if err != nil {
		log.Fatal(err)
	}
	tp = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	return tp, proc, func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}

// The code of the README.

func Example_register() {
	inDirectory(func(ctx context.Context) error {
		exp, err := optrace.NewFileExporter("ops.jsonl")
		if err != nil {
			return err
		}
		proc, err := optrace.NewProcessor(exp)
		if err != nil {
			return err
		}
		tp := sdktrace.NewTracerProvider(
			sdktrace.WithSpanProcessor(proc), sdktrace.WithRawSpanLimits(optrace.SpanLimits()))
		defer tp.Shutdown(ctx)

		tr := optrace.NewTracer(tp)
		ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
		mm.In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
		return nil
	})
	// Output:
	// matmul on cuda:0: [64x784 784x256] -> 64x256, 65536 bytes
}

func Example_beside() {
	otlp := tracetest.NewNoopExporter() // otlptracehttp.New(ctx) in a real program
	inDirectory(func(ctx context.Context) error {
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
	// Unordered output:
	// relu on cuda:0: [] -> ?, unknown bytes
	// below POST /v1/predict
}

// inDirectory calls f in a new directory and prints the operations in its ops.jsonl.
func inDirectory(f func(context.Context) error) {
	before, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "optrace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	defer os.Chdir(before)
	if err := errors.Join(os.Chdir(dir), f(context.Background())); err != nil {
		log.Fatal(err)
	}
	ops, err := os.Open("ops.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer ops.Close()
	printEntries(ops)
}
