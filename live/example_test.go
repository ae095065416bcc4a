package live_test

import (
	"context"
	"fmt"
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/live"
)

// A service with a server for its operators gets the page at /debug/optrace/.
func ExampleNewProcessor() {
	operators := http.NewServeMux()
	setUp := func() error {
		lp, err := live.NewProcessor()
		if err != nil {
			return err
		}
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(lp))
		operators.Handle("/debug/optrace/", lp.Handler())

		tr := optrace.NewTracer(tp)
		for range 3 {
			_, mm := tr.Start(context.Background(), "matmul", "cuda:0")
			mm.In(64, 784).In(784, 256).Out(64, 256).End()
		}
		for _, o := range lp.Report().Operations {
			fmt.Println(o.Operation, o.Count)
		}
		return tp.Shutdown(context.Background())
	}
	if err := setUp(); err != nil {
		panic(err)
	}
	// Output: matmul 3
}
