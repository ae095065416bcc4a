package optrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/pipeline"
)

// FlightRecorder is a [Processor] that keeps the last operations in memory, with
// the spans above them, and writes nothing until a dump is requested: by
// [FlightRecorder.Dump], or by an event that an option names. A dump writes the
// operations that are kept and starts over. Operations that make room for others count
// as dropped, and so do those that are left at Shutdown.
//
// What is kept takes no more memory than [WithBufferBytes] says, and no more than the
// operations that are there need: it is given back when large ones have made room for
// small ones, and after a dump. While a dump is written, what ends meanwhile may take
// as much again. A nil or zero FlightRecorder does nothing.
type FlightRecorder struct {
	*Processor
	flight *pipeline.Flight
}

// FlightOption configures a [FlightRecorder].
type FlightOption interface {
	applyFlight(*processorConfig)
}

// NewFlightRecorder returns a FlightRecorder of the last n operations, or as many as
// [WithBufferBytes] allows, with a quarter as many spans above them, in front of
// exp, which it shuts down as a [Processor] does. exp must have
// [FormatEntries]. A nil exp is an error, and so are an n that is not positive and
// options with values that make no sense. Nil options are ignored.
func NewFlightRecorder(exp *Exporter, n int, opts ...FlightOption) (*FlightRecorder, error) {
	if exp.isOff() {
		return nil, errors.New("optrace: new flight recorder: the exporter is nil")
	}
	format, ok := exp.format.(encoding.Joiner)
	if !ok {
		return nil, fmt.Errorf("optrace: new flight recorder: the format is %v, it must be %v", exp.cfg.format, FormatEntries)
	}
	cfg := newProcessorConfig(recordingVariables)
	for _, o := range opts {
		if o != nil {
			o.applyFlight(&cfg)
		}
	}
	err := cfg.validate()
	if n <= 0 {
		err = errors.Join(fmt.Errorf("size %d is not positive", n), err)
	}
	if cfg.dumpOnSlow < 0 {
		err = errors.Join(err, fmt.Errorf("duration %v of slow local roots is negative", cfg.dumpOnSlow))
	}
	if err != nil {
		return nil, fmt.Errorf("optrace: new flight recorder: %w", err)
	}
	p := newProcessor(cfg, exp)
	f := &FlightRecorder{Processor: p}
	f.flight = pipeline.NewFlight(p.toExporter(exp), format, pipeline.FlightConfig{
		Entries: n, MaxBytes: cfg.bufferBytes, OnError: cfg.dumpOnError, OnSlow: cfg.dumpOnSlow, Signals: cfg.dumpSignals,
		ExportTimeout: cfg.exportTimeout, CacheBytes: cfg.encoderBytes(),
	}, &p.errs)
	p.start(f.flight)
	return f, nil
}

// Dump writes the operations that are kept. It returns when they have been
// written or ctx is done. After Shutdown it does nothing.
func (f *FlightRecorder) Dump(ctx context.Context) error {
	if f.processor().isOff() {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if f.stopped.Load() {
		return nil
	}
	return f.flight.Dump(ctx)
}

// processor returns the Processor, nil for none.
func (f *FlightRecorder) processor() *Processor {
	if f == nil {
		return nil
	}
	return f.Processor
}

// OnStart is [Processor.OnStart].
func (f *FlightRecorder) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	f.processor().OnStart(ctx, s)
}

// OnEnd is [Processor.OnEnd].
func (f *FlightRecorder) OnEnd(s sdktrace.ReadOnlySpan) { f.processor().OnEnd(s) }

// Recorder is [Processor.Recorder].
func (f *FlightRecorder) Recorder(ctx context.Context) *Recorder { return f.processor().Recorder(ctx) }

// Expect is [Processor.Expect].
func (f *FlightRecorder) Expect(ctx context.Context) { f.processor().Expect(ctx) }

// Shutdown is [Processor.Shutdown].
func (f *FlightRecorder) Shutdown(ctx context.Context) error { return f.processor().Shutdown(ctx) }

// Stats is [Processor.Stats].
func (f *FlightRecorder) Stats() Stats { return f.processor().Stats() }

// MarshalLog is [Processor.MarshalLog].
func (f *FlightRecorder) MarshalLog() any { return f.processor().MarshalLog() }

func (f *FlightRecorder) queueTarget() queueTarget { return f.processor().queueTarget() }

// ForceFlush does nothing: only a dump writes operations.
func (f *FlightRecorder) ForceFlush(context.Context) error { return nil }

type flightOption func(*processorConfig)

func (o flightOption) applyFlight(cfg *processorConfig) { o(cfg) }

// WithDumpOnError makes an operation that fails request a dump.
func WithDumpOnError() FlightOption {
	return flightOption(func(cfg *processorConfig) { cfg.dumpOnError = true })
}

// WithDumpOnSlow makes a local root span, such as a request or a training step,
// that takes d or longer request a dump. Default: 0, none does; it must not be
// negative.
func WithDumpOnSlow(d time.Duration) FlightOption {
	return flightOption(func(cfg *processorConfig) { cfg.dumpOnSlow = d })
}

// WithDumpOnSignal makes the given signals request a dump. They then no longer
// have their default effect on the process.
func WithDumpOnSignal(signals ...os.Signal) FlightOption {
	signals = slices.Clone(signals)
	return flightOption(func(cfg *processorConfig) { cfg.dumpSignals = signals })
}
