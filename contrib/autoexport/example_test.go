package autoexport_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/contrib/autoexport"
	"github.com/optrace/optrace/ingest"
)

// A program configured by environment variables.
func Example() {
	dir, err := os.MkdirTemp("", "autoexport")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for key, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": autoexport.Name, "OPTRACE_FILE": filepath.Join(dir, "ops.jsonl"), // from outside
	} {
		if err := os.Setenv(key, value); err != nil {
			log.Fatal(err)
		}
	}

	ctx := context.Background()
	exp, err := contrib.NewSpanExporter(ctx)
	if err != nil {
		log.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp))
	_, mm := optrace.NewTracer(tp).Start(ctx, "matmul", "cuda:0")
	mm.Out(64, 256).End()
	if err := tp.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	for e, err := range ingest.Open(os.Getenv("OPTRACE_FILE")).Entries() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Operation, e.DeviceID, e.OutputShape)
	}
	// Output: matmul cuda:0 64x256
}
