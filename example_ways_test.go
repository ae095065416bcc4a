package optrace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest/otlp"
)

// A forwarder leaves out operations below a millisecond and sums them up in an event of the request.
func ExampleNewForwarder() {
	backend := tracetest.NewInMemoryExporter() // stands for an exporter of OTLP
	forwarder, err := optrace.NewForwarder(backend, optrace.WithForwardThreshold(time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(forwarder))
	defer tp.Shutdown(context.Background())
	tr := optrace.NewTracer(tp)
	ctx, request := tp.Tracer("app").Start(context.Background(), "POST /predict")
	start := time.Now().UnixNano()
	for name, took := range map[string]time.Duration{"relu": time.Microsecond, "matmul": time.Second} {
		prepared, err := tr.Prepare(optrace.OpSpec{Name: name, Device: "cuda:0"})
		if err != nil {
			log.Fatal(err)
		}
		prepared.Record(ctx, optrace.Times{Start: start, End: start + int64(took)})
	}
	request.End()
	if err := tp.ForceFlush(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, s := range backend.GetSpans() {
		fmt.Println(s.Name, len(s.Events), "events")
	}
	// Output:
	// matmul 0 events
	// POST /predict 2 events
}

// A flight recorder keeps the last operations and writes them on request.
func ExampleNewFlightRecorder() {
	path := filepath.Join(os.TempDir(), "incidents.jsonl")
	defer os.Remove(path)
	exp, err := optrace.NewFileExporter(path)
	if err != nil {
		log.Fatal(err)
	}
	flight, err := optrace.NewFlightRecorder(exp, 2, optrace.WithDumpOnSlow(time.Minute)) // of a request
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(flight))
	defer tp.Shutdown(context.Background())
	tr := optrace.NewTracer(tp)
	for step := range int64(5) {
		_, o := tr.Start(optrace.ContextWithStep(context.Background(), step), "matmul", "cuda:0")
		o.In(64, 784).In(784, 10).Out(64, 10).End()
	}
	var response bytes.Buffer // or the response to a request for /debug/ops
	if _, err := flight.WriteTo(&response); err != nil {
		log.Fatal(err)
	}
	printEntries(&response)
	// Output:
	// matmul on cuda:0: [64x784 784x10] -> 64x10, 5120 bytes, step 3
	// matmul on cuda:0: [64x784 784x10] -> 64x10, 5120 bytes, step 4
}

// event is a mark in a stream of a device.
type event struct{ at time.Time }

func (e *event) Time() (at int64, done bool, err error) {
	if e.at.IsZero() {
		return 0, false, nil
	}
	return e.at.UnixNano(), true, nil
}

// A Queue records operations when the device has run them.
func ExampleQueue() {
	var ops bytes.Buffer
	tp, _, shutdown := toBuffer(&ops)
	tr := optrace.NewTracer(tp)
	matmul, err := tr.Prepare(optrace.OpSpec{Name: "matmul", Device: "cuda:0"})
	if err != nil {
		log.Fatal(err)
	}
	q, err := optrace.NewQueue[*event](tr)
	if err != nil {
		log.Fatal(err)
	}
	start := new(event)
	end := new(event)
	o := q.Begin(context.Background(), matmul)
	// Enqueue the start event, the kernel and the end event here.
	q.Launched(o, start, end)
	fmt.Println(q.Poll(), "recorded")
	start.at = time.Now()
	end.at = time.Now()
	fmt.Println(q.Poll(), "recorded")
	if err := q.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	shutdown()
	printEntries(&ops)
	// Output:
	// 0 recorded
	// 1 recorded
	// matmul on cuda:0: [] -> ?, unknown bytes
}

// The device reports the times of an operation long after the end of its request. KeepTrace makes the Processor write
// the request when it ends, however many other requests end meanwhile.
func ExampleProcessor_KeepTrace() {
	var ops bytes.Buffer
	tp, proc, shutdown := toBuffer(&ops)
	ctx, request := tp.Tracer("app").Start(context.Background(), "POST /predict")
	proc.KeepTrace(ctx)
	request.End()
	matmul, err := optrace.NewTracer(tp).Prepare(optrace.OpSpec{Name: "matmul", Device: "cuda:0"})
	if err != nil {
		log.Fatal(err)
	}
	launched := time.Now().UnixNano()
	matmul.Record(ctx, optrace.Times{Launch: launched, Start: launched + 5_000, End: launched + 9_000})
	shutdown()
	printEntries(&ops)
	// Unordered output:
	// below POST /predict
	// matmul on cuda:0: [] -> ?, unknown bytes
}

// Two exporters in one process: entries for optrace, OTLP for other readers. Each has its own processor, buffers,
// policy and counts.
func ExampleNewProcessor() {
	var ops, spans bytes.Buffer
	entries, err := optrace.NewExporter(&ops)
	if err != nil {
		log.Fatal(err)
	}
	lines, err := optrace.NewExporter(&spans, optrace.WithFormat(optrace.FormatOTLPJSON))
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider()
	for _, exp := range []*optrace.Exporter{entries, lines} {
		proc, err := optrace.NewProcessor(exp)
		if err != nil {
			log.Fatal(err)
		}
		tp.RegisterSpanProcessor(proc)
	}
	_, o := optrace.NewTracer(tp).Start(context.Background(), "relu", "cuda:0")
	o.In(64, 784).Out(64, 784).End()
	if err := tp.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	printEntries(&ops)
	for rec, err := range otlp.JSONRecords(&spans, "spans", nil) {
		if err != nil {
			log.Fatal(err)
		}
		if rec.Entry != nil {
			fmt.Println("and as OTLP:", rec.Entry.Operation, rec.Entry.DeviceID)
		}
	}
	// Output:
	// relu on cuda:0: [64x784] -> 64x784, 401408 bytes
	// and as OTLP: relu cuda:0
}
