package observ

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/otelconv"
)

// Counts are a processor's spans taken, exported and lost, spans and sums forgotten, and parents lost.
type Counts struct{ Recorded, Exported, Lost, Forgotten, Unsummed, LostParents uint64 }

// ObserveProcessor observes a processor until stop is called, unless metrics are off. It calls counts at each
// collection. It reports no capacity: buffers are bounded in bytes. Errors go to OpenTelemetry's error handler.
func ObserveProcessor(s instrumentation.Scope, counts func() Counts) (stop func() error) {
	stop = func() error { return nil }
	if !observabilityEnabled() {
		return stop
	}
	m := meter(s)
	queue, err1 := otelconv.NewSDKProcessorSpanQueueSize(m)
	processed, err2 := otelconv.NewSDKProcessorSpanProcessedObservable(m)
	forgotten, err3 := m.Int64ObservableCounter("optrace.processor.span.forgotten", metric.WithUnit("{span}"),
		metric.WithDescription("The number of spans under way that were forgotten for want of memory"))
	unsummed, err4 := m.Int64ObservableCounter("optrace.processor.operation.unsummed", metric.WithUnit("{operation}"),
		metric.WithDescription(
			"The number of operations that were not forwarded, and are in no summary for want of memory"))
	lostParents, err5 := m.Int64ObservableCounter("optrace.processor.parent.lost", metric.WithUnit("{span}"),
		metric.WithDescription(
			"The number of spans above operations that ended before these and were lost for want of memory"))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		handle(err)
		return stop
	}
	attrs := component(s.Name+".Processor", &componentIDs.processor)
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	lost := metric.WithAttributeSet(attribute.NewSet(append(attrs, semconv.ErrorTypeKey.String("queue_full"))...))
	registration, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		st := counts()
		o.ObserveInt64(processed.Inst(), int64(st.Exported), set)
		o.ObserveInt64(processed.Inst(), int64(st.Lost), lost)
		o.ObserveInt64(queue.Inst(), int64(st.Recorded-st.Exported-st.Lost), set)
		o.ObserveInt64(forgotten, int64(st.Forgotten), set)
		o.ObserveInt64(unsummed, int64(st.Unsummed), set)
		o.ObserveInt64(lostParents, int64(st.LostParents), set)
		return nil
	}, processed.Inst(), queue.Inst(), forgotten, unsummed, lostParents)
	if handle(err); registration == nil {
		return stop
	}
	return registration.Unregister
}
