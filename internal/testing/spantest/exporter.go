package spantest

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Exporter keeps the exported spans, even after Shutdown. It is safe for concurrent use.
type Exporter struct {
	// OnExport is called before a batch is kept, unless it is nil. Its error rejects the batch.
	OnExport func(context.Context) error
	// OnShutdown is called by Shutdown, which returns its error, unless it is nil.
	OnShutdown func(context.Context) error

	mu        sync.Mutex
	batches   [][]sdktrace.ReadOnlySpan
	shutdowns int
}

// ExportSpans keeps spans.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.OnExport != nil {
		if err := e.OnExport(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batches = append(e.batches, slices.Clone(spans))
	return nil
}

// Shutdown counts its calls.
func (e *Exporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.shutdowns++
	e.mu.Unlock()
	if e.OnShutdown != nil {
		return e.OnShutdown(ctx)
	}
	return nil
}

// Batches returns the exported batches.
func (e *Exporter) Batches() [][]sdktrace.ReadOnlySpan {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.batches)
}

// Spans returns the exported spans in order.
func (e *Exporter) Spans() []sdktrace.ReadOnlySpan { return slices.Concat(e.Batches()...) }

// Stubs returns the exported spans as stubs.
func (e *Exporter) Stubs() tracetest.SpanStubs {
	return tracetest.SpanStubsFromReadOnlySpans(e.Spans())
}

// Names returns the names of the exported spans.
func (e *Exporter) Names() (names []string) {
	for _, s := range e.Spans() {
		names = append(names, s.Name())
	}
	return names
}

// Shutdowns returns the number of calls of Shutdown.
func (e *Exporter) Shutdowns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shutdowns
}

// OTLPClient keeps the last batch of OpenTelemetry's OTLP exporter.
type OTLPClient struct{ Sent []*tracepb.ResourceSpans }

// Start does nothing.
func (c *OTLPClient) Start(context.Context) error { return nil }

// Stop does nothing.
func (c *OTLPClient) Stop(context.Context) error { return nil }

// UploadTraces keeps spans.
func (c *OTLPClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	c.Sent = spans
	return nil
}

// Messages splits text into messages. The length of each precedes it in four bytes.
func Messages(tb testing.TB, text []byte) (all [][]byte) {
	tb.Helper()
	for len(text) > 0 {
		if len(text) < 4 || uint32(len(text)-4) < binary.BigEndian.Uint32(text) {
			tb.Fatalf("the last message is cut off: %d bytes are left", len(text))
		}
		end := 4 + binary.BigEndian.Uint32(text)
		all = append(all, text[4:end])
		text = text[end:]
	}
	return all
}
