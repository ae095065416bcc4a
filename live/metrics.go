package live

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
)

const scope = "github.com/optrace/optrace/live"

// metrics records metrics of operations. It is safe for concurrent use.
type metrics struct {
	duration     metric.Float64Histogram
	memory       metric.Int64Counter
	registration metric.Registration
}

type series struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func newMetrics(p metric.MeterProvider, dropped *atomic.Uint64) (*metrics, error) {
	m := new(metrics)
	meter := p.Meter(scope)
	errs := make([]error, 4)
	m.duration, errs[0] = meter.Float64Histogram("tensor.op.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of tensor operations."))
	m.memory, errs[1] = meter.Int64Counter("tensor.op.memory", metric.WithUnit("By"),
		metric.WithDescription("Memory that tensor operations state."))
	var lost metric.Int64ObservableCounter
	lost, errs[2] = meter.Int64ObservableCounter("tensor.op.dropped", metric.WithUnit("{operation}"),
		metric.WithDescription("Tensor operations that could not be read."))
	if errs[2] == nil {
		m.registration, errs[3] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			o.ObserveInt64(lost, int64(dropped.Load()))
			return nil
		}, lost)
	}
	return m, errors.Join(errs...)
}

func newSeries(e *op.Entry) *series {
	attrs := []attribute.KeyValue{attribute.String(attrkey.Name, e.Operation)}
	if e.DeviceID != "" {
		attrs = append(attrs, attribute.String(attrkey.Device, e.DeviceID))
	}
	if e.Kind != op.KindUnknown {
		attrs = append(attrs, attribute.String(attrkey.Kind, e.Kind.String()))
	}
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &series{record: []metric.RecordOption{set}, add: []metric.AddOption{set}}
}

// record measures an operation in the context of its span.
func (m *metrics) record(d *span.Data, of *template, duration int64) {
	ctx := context.Background()
	if d.Context.IsSampled() {
		ctx = trace.ContextWithSpanContext(ctx, d.Context)
	}
	m.duration.Record(ctx, float64(duration)/1e9, of.series.record...)
	if memory := of.entry.MemoryBytes; memory.Known {
		m.memory.Add(ctx, memory.V, of.series.add...)
	}
}
