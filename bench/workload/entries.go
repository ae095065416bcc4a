package workload

import (
	"context"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// entriesWriter writes batches through optrace's exporter.
type entriesWriter struct {
	exp       *optrace.Exporter
	resources []*resource.Resource
	spans     []sdktrace.ReadOnlySpan
}

func newEntriesWriter(w io.Writer, c Config) (*entriesWriter, error) {
	exp, err := optrace.NewExporter(w)
	return &entriesWriter{exp: exp, resources: c.resources()}, err
}

func (w *entriesWriter) write(spans []Span) error {
	w.spans = w.spans[:0]
	for i := range spans {
		w.spans = append(w.spans, spans[i].snapshot(w.resources))
	}
	return w.exp.ExportSpans(context.Background(), w.spans)
}

func (w *entriesWriter) close() error { return w.exp.Shutdown(context.Background()) }

// resources returns those of the processes.
func (c Config) resources() []*resource.Resource {
	all := make([]*resource.Resource, c.processes())
	for i := range all {
		attrs := []attribute.KeyValue{attribute.String(op.KeyServiceName, ServiceName)}
		if len(all) > 1 {
			attrs = append(attrs, optrace.Rank(int64(i)), optrace.WorldSize(int64(len(all))))
		}
		all[i] = resource.NewSchemaless(attrs...)
	}
	return all
}

// snapshot returns the span as the SDK would hand it to an exporter.
func (s *Span) snapshot(resources []*resource.Resource) sdktrace.ReadOnlySpan {
	identity := trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.SpanID, TraceFlags: trace.FlagsSampled}
	stub := tracetest.SpanStub{
		Name: s.Name, SpanContext: trace.NewSpanContext(identity), SpanKind: trace.SpanKindInternal,
		StartTime: time.Unix(0, s.Start), EndTime: time.Unix(0, s.End),
		Resource: resources[s.Process], InstrumentationScope: instrumentation.Scope{Name: LayerScope},
	}
	if s.Parent.IsValid() {
		identity.SpanID = s.Parent
		stub.Parent = trace.NewSpanContext(identity)
	}
	if s.Op != nil {
		stub.Attributes = s.Op.attrs
		stub.InstrumentationScope = instrumentation.Scope{Name: optrace.ScopeName, Version: optrace.Version}
	}
	return stub.Snapshot()
}
