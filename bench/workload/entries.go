package workload

import (
	"context"
	"io"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
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
	for _, s := range spans {
		w.spans = append(w.spans, &snapshot{span: s, resource: w.resources[s.Process]})
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
			attrs = append(attrs, tensorconv.Rank(int64(i)), tensorconv.WorldSize(int64(len(all))))
		}
		all[i] = resource.NewSchemaless(attrs...)
	}
	return all
}
