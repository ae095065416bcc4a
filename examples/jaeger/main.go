// Command jaeger is an inference service whose requests go to Jaeger as traces
// and whose operations go into a local batch, for optrace to join the two.
//
// The service ranks items for a user with a small neural network. The vectors
// of the items lie compressed in shards, and a shard is unpacked when an item of
// it is first asked for: so some requests are slow, and the question is why.
// Read the files in this order:
//
//	main.go     the two destinations of the spans
//	service.go  the HTTP handler, with a span for each request
//	ranker.go   the network, with an operation for each step
//	shard.go    the vectors, unpacked on first use
//	load.go     requests, as a client would send them
//
// # The join
//
// With Jaeger running, two commands show which operation made requests slow:
//
//	go run ./jaeger -requests 300
//	go run -C .. ./cmd/optrace correlate -jaeger http://localhost:16686 -service ranker examples/ranker.jsonl
//
// The first sends requests to itself and exits; without -requests it serves
// until it is interrupted. Jaeger holds the requests, the operations that took
// long and a summary of the others; ranker.jsonl holds every operation. The second
// shows both as one, and links to Jaeger's pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
)

type config struct {
	addr     string
	otlp     string
	batch    string
	requests int
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

// forwardThreshold is how long an operation takes to be sent to Jaeger by
// itself. Shorter ones are many, and are told of in a summary.
const forwardThreshold = 200 * time.Microsecond

// setup sets up two destinations: a batch of all operations in a file, and an OTLP
// receiver for the requests and what matters in them.
func setup(receiver sdktrace.SpanExporter, batch string) (*optrace.SDK, error) {
	return optrace.Setup(batch, optrace.WithResourceAttributes(semconv.ServiceName(serviceName)),
		optrace.WithSpanExporter(receiver, optrace.WithForwardThreshold(forwardThreshold)))
}

// run serves until ctx is done, or until the requests of cfg are answered.
func run(ctx context.Context, cfg config, out io.Writer) (err error) {
	receiver, err := demo.NewReceiver(ctx, cfg.otlp)
	if err != nil {
		return err
	}
	sdk, err := setup(receiver, cfg.batch)
	if err != nil {
		return err
	}
	// What is still buffered is sent and written, also after an interrupt.
	defer func() {
		err = errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx)))
		n := sdk.Processor().Stats()
		fmt.Fprintf(out, "%s: %d operations written, %d dropped\n", cfg.batch, n.Written, n.Dropped)
		receiver.Report(out)
	}()

	service, err := newService(sdk)
	if err != nil {
		return err
	}
	client := func(ctx context.Context, address string) error {
		if cfg.requests > 0 {
			return sendRequests(ctx, address, cfg.requests)
		}
		fmt.Fprintf(out, "serving on %s; try curl -d '{\"user\":1,\"items\":[7,2000]}' %[1]s/v1/rank\n", address)
		<-ctx.Done()
		return nil
	}
	return demo.Serve(ctx, cfg.addr, service, client)
}
