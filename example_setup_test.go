package optrace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest/otlp"
)

// A program that records into a file and nowhere else.
func ExampleSetup() {
	path := filepath.Join(os.TempDir(), "optrace-example-setup.jsonl")
	defer os.Remove(path)
	sdk, err := optrace.Setup(path)
	if err != nil {
		log.Fatal(err)
	}
	_, o := sdk.Tracer().Start(context.Background(), "relu", "cuda:0")
	o.In(64, 784).Out(64, 784).End()
	if err := sdk.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	printFile(path)
	// Output:
	// relu on cuda:0: [64x784] -> 64x784, 401408 bytes
}

// Two exporters in one process, each behind a processor of its own: entries for optrace, and OTLP for
// whoever reads that. They have buffers, policies and books of their own.
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
