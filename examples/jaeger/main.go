// Command jaeger is an inference service. Its requests go to Jaeger as traces and its operations into a local file;
// optrace joins the two.
//
// The service ranks items with a small neural network. It makes the vectors of the items, shard by shard, on first use,
// so that some requests are slow. main.go has the two destinations of the spans, service.go the HTTP handler with a
// span for each request, ranker.go the network with an operation for each step.
//
// # The join
//
// With Jaeger running, two commands find the operation that makes requests slow:
//
//	go run ./jaeger -requests 300
//	go run -C .. ./cmd/optrace correlate -jaeger http://localhost:16686 -service ranker examples/ranker.jsonl
//
// The first command sends requests to itself and exits; without -requests it serves until an interrupt. Jaeger has the
// requests, long operations and a summary of short ones. ranker.jsonl has every operation. The second command shows
// both together, with links to Jaeger's pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
)

type config struct {
	addr, otlp, batch string
	requests          int
}

func main() {
	var cfg config
	flag.StringVar(&cfg.addr, "addr", "127.0.0.1:8080", "serve on `ADDRESS`")
	flag.StringVar(&cfg.otlp, "otlp", "",
		"send traces to the OTLP receiver at `URL` (default that of OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318)")
	flag.StringVar(&cfg.batch, "o", "ranker.jsonl", "append operations to `FILE`")
	flag.IntVar(&cfg.requests, "requests", 0, "send `N` requests to itself and exit")
	demo.Main("jaeger", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

const serviceName = "ranker"

// forwardThreshold is the shortest duration of an operation sent to Jaeger. A summary counts shorter ones.
const forwardThreshold = 200 * time.Microsecond

// run serves until ctx is done, or until cfg's requests are answered.
func run(ctx context.Context, cfg config, out io.Writer) (err error) {
	receiver, err := demo.NewReceiver(ctx, cfg.otlp)
	if err != nil {
		return err
	}
	// All operations go to a file, requests and long operations to an OTLP receiver.
	sdk, err := optrace.Setup(cfg.batch, optrace.WithResourceAttributes(semconv.ServiceName(serviceName)),
		optrace.WithSpanExporter(receiver, optrace.WithForwardThreshold(forwardThreshold)))
	if err != nil {
		return err
	}
	// Flush the buffers, even after an interrupt.
	defer func() {
		err = errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx)))
		n := sdk.Processor().Stats()
		fmt.Fprintf(out, "%s: %d operations written, %d dropped\n", cfg.batch, n.Written, n.Dropped)
		receiver.Report(out)
	}()

	client := func(ctx context.Context, address string) error {
		if cfg.requests > 0 {
			return sendRequests(ctx, address, cfg.requests)
		}
		fmt.Fprintf(out, "serving on %s; try curl -d '{\"items\":[7,2000]}' %[1]s/v1/rank\n", address)
		<-ctx.Done()
		return nil
	}
	return demo.Serve(ctx, cfg.addr, newService(sdk), client)
}
