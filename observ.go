package optrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/otelconv"
)

// Metrics about exporters and processors are recorded as the SDK's own
// components do it: when the environment variable OTEL_GO_X_OBSERVABILITY is
// "true", under the names of the semantic conventions, with the global
// MeterProvider. They are experimental there, and so they are here.

// observabilityVariable switches the metrics on.
const observabilityVariable = "OTEL_GO_X_OBSERVABILITY"

func observabilityEnabled() bool {
	return strings.EqualFold(os.Getenv(observabilityVariable), "true")
}

// The types of the components that are observed.
const (
	exporterComponent  = ScopeName + ".Exporter"
	processorComponent = ScopeName + ".Processor"
)

// componentIDs number the exporters and processors of this process, from 0, so
// that their metrics can be told apart.
var componentIDs struct{ exporter, processor atomic.Int64 }

func component(typ string, ids *atomic.Int64) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.OTelComponentName(fmt.Sprintf("%s/%d", typ, ids.Add(1)-1)),
		semconv.OTelComponentTypeKey.String(typ),
	}
}

func meter() metric.Meter {
	return otel.GetMeterProvider().Meter(
		ScopeName, metric.WithInstrumentationVersion(Version), metric.WithSchemaURL(semconv.SchemaURL))
}

// exporterMetrics observes an exporter. Nil observes nothing.
type exporterMetrics struct {
	inflight metric.Int64UpDownCounter
	exported metric.Int64Counter
	duration metric.Float64Histogram
	attrs    []attribute.KeyValue
	set      metric.MeasurementOption
}

// newExporterMetrics returns nil where metrics are off. Where only some of the
// instruments can be made the others do nothing, and the error says why.
func newExporterMetrics() (*exporterMetrics, error) {
	if !observabilityEnabled() {
		return nil, nil
	}
	m := meter()
	inflight, err1 := otelconv.NewSDKExporterSpanInflight(m)
	exported, err2 := otelconv.NewSDKExporterSpanExported(m)
	duration, err3 := otelconv.NewSDKExporterOperationDuration(m)
	e := &exporterMetrics{
		inflight: inflight.Inst(), exported: exported.Inst(), duration: duration.Inst(),
		attrs: component(exporterComponent, &componentIDs.exporter),
	}
	e.set = metric.WithAttributeSet(attribute.NewSet(e.attrs...))
	return e, errors.Join(err1, err2, err3)
}

// export observes the export of n spans. The function it returns is called at
// the end, with how many of them were exported.
func (e *exporterMetrics) export(n int) func(exported int, err error) {
	if e == nil {
		return func(int, error) {}
	}
	ctx, start := context.Background(), time.Now()
	e.inflight.Add(ctx, int64(n), e.set)
	return func(exported int, err error) {
		e.inflight.Add(ctx, -int64(n), e.set)
		e.exported.Add(ctx, int64(exported), e.set)
		outcome := e.set
		if err != nil {
			attrs := append(append([]attribute.KeyValue(nil), e.attrs...), errorType(err))
			outcome = metric.WithAttributeSet(attribute.NewSet(attrs...))
			e.exported.Add(ctx, int64(n-exported), outcome)
		}
		e.duration.Record(ctx, time.Since(start).Seconds(), outcome)
	}
}

// errorType returns the attribute that classifies err.
func errorType(err error) attribute.KeyValue {
	if errors.Is(err, ErrExporterShutdown) {
		return semconv.ErrorTypeKey.String("already_shutdown")
	}
	return semconv.ErrorTypeKey.String("write_failed")
}

// processorMetrics observes a processor. Nil observes nothing.
type processorMetrics struct {
	registration metric.Registration
}

// newProcessorMetrics returns nil where metrics are off. stats is asked when
// metrics are collected: nothing is counted per span. There is no capacity to
// tell: buffers are bounded in bytes, not in spans.
func newProcessorMetrics(stats func() Stats) (*processorMetrics, error) {
	if !observabilityEnabled() {
		return nil, nil
	}
	m := meter()
	queue, err1 := otelconv.NewSDKProcessorSpanQueueSize(m)
	processed, err2 := otelconv.NewSDKProcessorSpanProcessedObservable(m)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	attrs := component(processorComponent, &componentIDs.processor)
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	lost := metric.WithAttributeSet(attribute.NewSet(append(attrs, semconv.ErrorTypeKey.String("queue_full"))...))
	registration, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := stats()
		o.ObserveInt64(processed.Inst(), int64(st.Written), set)
		o.ObserveInt64(processed.Inst(), int64(st.Dropped), lost)
		o.ObserveInt64(queue.Inst(), int64(st.Recorded-st.Written-st.Dropped), set)
		return nil
	}, processed.Inst(), queue.Inst())
	return &processorMetrics{registration}, err
}

// shutdown stops observing.
func (p *processorMetrics) shutdown() error {
	if p == nil || p.registration == nil {
		return nil
	}
	return p.registration.Unregister()
}
