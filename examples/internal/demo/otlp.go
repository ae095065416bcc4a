package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Receiver sends spans to an OTLP receiver by HTTP. Its errors do not reach the program; Report prints them.
type Receiver struct {
	sdktrace.SpanExporter
	where string

	mu     sync.Mutex
	lost   int
	reason error
}

// NewReceiver returns a Receiver at url, or else at the address of OpenTelemetry's environment variables, or else at
// localhost, without TLS.
func NewReceiver(ctx context.Context, url string) (*Receiver, error) {
	if url != "" && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("%q is no http:// or https:// URL of an OTLP receiver", url)
	}
	named := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	r := &Receiver{where: cmp.Or(url, named)}
	var opts []otlptracehttp.Option // empty: from the environment
	if url != "" || r.where == "" {
		r.where = cmp.Or(url, "http://localhost:4318")
		opts = append(opts, otlptracehttp.WithEndpointURL(r.where+"/v1/traces"))
	}
	var err error
	r.SpanExporter, err = otlptracehttp.New(ctx, opts...)
	return r, err
}

// ExportSpans sends the spans and counts lost ones.
func (r *Receiver) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lost += len(spans)
		r.reason = err
	}
	return nil
}

// Report prints the number of lost spans and the address.
func (r *Receiver) Report(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 {
		fmt.Fprintf(out, "%d spans were not sent to the OTLP receiver at %s: %v\n", r.lost, r.where, r.reason)
	}
}
