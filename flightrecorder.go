package optrace

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/pipeline"
)

// FlightRecorder is a [Processor] that keeps the last operations in memory, with the spans above
// them, and writes nothing until a dump is requested: by [FlightRecorder.Dump], or by an event that
// an option names. A dump writes the operations that are kept and starts over. Operations that make
// room for others count as dropped, and so do those that are left at Shutdown.
//
// What is kept takes no more memory than [WithBufferBytes] says, and no more than the operations
// that are there need. While a dump is written, what ends meanwhile may take as much again. A nil or
// zero FlightRecorder does nothing.
type FlightRecorder struct {
	*Processor
	flight *pipeline.Flight
}

// NewFlightRecorder returns a FlightRecorder of the last n operations, or as many as [WithBufferBytes]
// allows, with a quarter as many spans above them, in front of exp, which it shuts down as a
// [Processor] does. A nil exp, one without [FormatEntries] and an n that is not positive are errors.
func NewFlightRecorder(exp *Exporter, n int, opts ...ProcessorOption) (*FlightRecorder, error) {
	if exp.isOff() {
		return nil, errors.New("optrace: new flight recorder: the exporter is nil")
	}
	format, ok := exp.format.(encoding.Joiner)
	if !ok {
		return nil, fmt.Errorf("optrace: new flight recorder: the format is %v, it must be %v", exp.cfg.format, FormatEntries)
	}
	cfg, err := newProcessorConfig(flightRecorders, opts)
	if n <= 0 {
		err = errors.Join(fmt.Errorf("optrace: new flight recorder: size %d is not positive", n), err)
	}
	if err != nil {
		return nil, err
	}
	p := newProcessor(cfg, exp)
	f := &FlightRecorder{Processor: p}
	history := cfg.pipeline()
	history.Entries = n
	f.flight = pipeline.NewFlight(p.toExporter(exp), format, history, &p.errs)
	p.start(f.flight)
	return f, nil
}

// Dump writes the operations that are kept. It returns when they have been
// written or ctx is done. After Shutdown it does nothing.
func (f *FlightRecorder) Dump(ctx context.Context) error {
	if f.processor().isOff() || f.stopped.Load() {
		return nil
	}
	return f.flight.Dump(orBackground(ctx))
}

// WriteTo writes the operations that are kept to w, such as the response to a request, as a file of
// entries, and starts over. It returns how many bytes w has taken; what it did not take is lost, and
// counted as dropped. After Shutdown it writes nothing.
func (f *FlightRecorder) WriteTo(w io.Writer) (n int64, err error) {
	if f.processor().isOff() || f.stopped.Load() {
		return 0, nil
	}
	return f.flight.WriteTo(w)
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

// ForceFlush does nothing: only a dump writes operations.
func (f *FlightRecorder) ForceFlush(context.Context) error { return nil }
