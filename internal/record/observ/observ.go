// Package observ is the plugin's telemetry about itself: metrics in the names of the semantic conventions, and errors
// without a caller, at a limited rate. Exporters and pipelines call it.
package observ

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
	"go.opentelemetry.io/otel/sdk/instrumentation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/otelconv"
)

// observabilityEnabled reports whether metrics are on, by the variable of the SDK's own components.
func observabilityEnabled() bool {
	return strings.EqualFold(os.Getenv("OTEL_GO_X_OBSERVABILITY"), "true")
}

// componentIDs number the exporters and processors of this process.
var componentIDs struct{ exporter, processor atomic.Int64 }

func component(typ string, ids *atomic.Int64) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.OTelComponentName(fmt.Sprintf("%s/%d", typ, ids.Add(1)-1)), semconv.OTelComponentTypeKey.String(typ),
	}
}

func meter(s instrumentation.Scope) metric.Meter {
	return otel.GetMeterProvider().Meter(
		s.Name, metric.WithInstrumentationVersion(s.Version), metric.WithSchemaURL(semconv.SchemaURL))
}

func handle(err error) {
	if err != nil {
		otel.Handle(fmt.Errorf("optrace: making instruments: %w", err))
	}
}

// Exporter observes an exporter. A nil Exporter does not.
type Exporter struct {
	inflight metric.Int64UpDownCounter
	exported metric.Int64Counter
	duration metric.Float64Histogram
	attrs    []attribute.KeyValue
	set      metric.MeasurementOption
}

// NewExporter returns nil if metrics are off. Errors go to OpenTelemetry's error handler.
func NewExporter(s instrumentation.Scope) *Exporter {
	if !observabilityEnabled() {
		return nil
	}
	m := meter(s)
	inflight, err1 := otelconv.NewSDKExporterSpanInflight(m)
	exported, err2 := otelconv.NewSDKExporterSpanExported(m)
	duration, err3 := otelconv.NewSDKExporterOperationDuration(m)
	e := &Exporter{
		inflight: inflight.Inst(), exported: exported.Inst(), duration: duration.Inst(),
		attrs: component(s.Name+".Exporter", &componentIDs.exporter),
	}
	e.set = metric.WithAttributeSet(attribute.NewSet(e.attrs...))
	handle(errors.Join(err1, err2, err3))
	return e
}

// Export observes the export of n spans. Call the returned function at its end.
func (e *Exporter) Export(n int) func(exported int, err error) {
	if e == nil {
		return func(int, error) {}
	}
	ctx := context.Background()
	start := time.Now()
	e.inflight.Add(ctx, int64(n), e.set)
	return func(exported int, err error) {
		e.inflight.Add(ctx, -int64(n), e.set)
		e.exported.Add(ctx, int64(exported), e.set)
		outcome := e.set
		if err != nil {
			class := "write_failed"
			if typed := interface{ ErrorType() string }(nil); errors.As(err, &typed) {
				class = typed.ErrorType()
			}
			attrs := append(append([]attribute.KeyValue(nil), e.attrs...), semconv.ErrorTypeKey.String(class))
			outcome = metric.WithAttributeSet(attribute.NewSet(attrs...))
			e.exported.Add(ctx, int64(n-exported), outcome)
		}
		e.duration.Record(ctx, time.Since(start).Seconds(), outcome)
	}
}

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

// Errors reports errors without a caller to OpenTelemetry's error handler: at most one per pause, each on its own
// goroutine, because the handler may block or panic.
type Errors struct {
	last       atomic.Pointer[time.Time] // of the last report
	suppressed atomic.Int64
	busy       atomic.Bool // the handler is running
}

const reportPause = 10 * time.Second

// Report reports err, unless it is nil or comes too soon.
func (r *Errors) Report(err error) {
	if err == nil {
		return
	}
	now := time.Now() // monotonic: wall clocks may be set
	last := r.last.Load()
	if last != nil && now.Sub(*last) < reportPause || !r.busy.CompareAndSwap(false, true) {
		r.suppressed.Add(1)
		return
	}
	r.last.Store(new(now))
	if n := r.suppressed.Swap(0); n > 0 {
		err = fmt.Errorf("%w (and %d more errors since the last report)", err, n)
	}
	handling.Add(1)
	go func() {
		defer handling.Add(-1)
		defer r.busy.Store(false)
		defer func() { _ = recover() }() // no one is left to report to
		otel.Handle(err)
	}()
}

var handling atomic.Int64

// Await waits until all handlers have returned, ctx is done, or a tenth of a second has passed.
func Await(ctx context.Context) {
	const most = 100 * time.Millisecond
	for start := time.Now(); handling.Load() > 0 && ctx.Err() == nil && time.Since(start) < most; {
		time.Sleep(time.Millisecond)
	}
}
