package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

const scope = "github.com/optrace/optrace/live"

// metrics records metrics of operations. It is safe for concurrent use.
type metrics struct {
	duration     metric.Float64Histogram
	memory       metric.Int64Counter
	registration metric.Registration

	mu   sync.Mutex
	most int
	all  map[seriesKey]*series
	rest *series // those beyond most
}

// seriesKey are the attributes of a series.
type seriesKey struct {
	operation, device string
	kind              op.Kind
}

type series struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func newSeries(attrs ...attribute.KeyValue) *series {
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &series{record: []metric.RecordOption{set}, add: []metric.AddOption{set}}
}

func newMetrics(p metric.MeterProvider, most int, dropped *atomic.Uint64, push *push) (*metrics, error) {
	m := &metrics{most: most, all: make(map[seriesKey]*series), rest: newSeries(attribute.Bool("otel.metric.overflow", true))}
	meter := p.Meter(scope)
	errs := make([]error, 5)
	m.duration, errs[0] = meter.Float64Histogram("tensor.op.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of tensor operations."))
	m.memory, errs[1] = meter.Int64Counter("tensor.op.memory", metric.WithUnit("By"),
		metric.WithDescription("Memory that tensor operations state."))
	var lost, unpushed metric.Int64ObservableCounter
	lost, errs[2] = meter.Int64ObservableCounter("tensor.op.dropped", metric.WithUnit("{operation}"),
		metric.WithDescription("Tensor operations that could not be read."))
	unpushed, errs[3] = meter.Int64ObservableCounter("tensor.op.push.lost", metric.WithUnit("{operation}"),
		metric.WithDescription("Tensor operations in no profile that was pushed."))
	if errs[2] == nil && errs[3] == nil {
		m.registration, errs[4] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			o.ObserveInt64(lost, int64(dropped.Load()))
			if push != nil {
				o.ObserveInt64(unpushed, push.lost())
			}
			return nil
		}, lost, unpushed)
	}
	return m, errors.Join(errs...)
}

// series returns the series of an operation.
func (m *metrics) series(e *op.Entry) *series {
	key := seriesKey{e.Operation, e.DeviceID, e.Kind}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.all[key]
	if s != nil {
		return s
	}
	if len(m.all) >= m.most {
		return m.rest
	}
	attrs := []attribute.KeyValue{attribute.String(attrkey.Name, e.Operation)}
	if e.DeviceID != "" {
		attrs = append(attrs, attribute.String(attrkey.Device, e.DeviceID))
	}
	if e.Kind != op.KindUnknown {
		attrs = append(attrs, attribute.String(attrkey.Kind, e.Kind.String()))
	}
	s = newSeries(attrs...)
	m.all[key] = s
	return s
}

// record measures an operation, in the context of its span.
func (m *metrics) record(d *span.Data, of *measured) {
	ctx := context.Background()
	if d.Context.IsSampled() {
		ctx = trace.ContextWithSpanContext(ctx, d.Context)
	}
	m.duration.Record(ctx, float64(of.duration)/1e9, of.series.record...)
	if of.memory.Known {
		m.memory.Add(ctx, of.memory.V, of.series.add...)
	}
}

func (m *metrics) shutdown() error {
	if m.registration == nil {
		return nil
	}
	return m.registration.Unregister()
}
