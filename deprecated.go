package optrace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// CacheOption is the option of [WithCacheBytes].
//
// Deprecated: Use [ExporterOption] or [ProcessorOption].
type CacheOption = interface {
	ExporterOption
	ProcessorOption
}

// TracerOption is the option of [WithStartAttributes].
//
// Deprecated: Use [SetupOption].
type TracerOption = SetupOption

// QueueOption configures a [Queue].
//
// Deprecated: Use [ProcessorOption].
type QueueOption = ProcessorOption

// PreparedOp is the operation of [Prepared.Start].
//
// Deprecated: Use [Op].
type PreparedOp = Op

// FlightRecorder is the Processor of [NewFlightRecorder].
//
// Deprecated: Use [Processor].
type FlightRecorder = Processor

// WithBufferBytes is [WithMaxBytes].
//
// Deprecated: Use [WithMaxBytes].
func WithBufferBytes(n int64) ProcessorOption { return WithMaxBytes(n) }

// WithQueuePolicy is [WithPolicy].
//
// Deprecated: Use [WithPolicy].
func WithQueuePolicy(p Policy) ProcessorOption { return WithPolicy(p) }

// Expect is [Processor.KeepTrace].
//
// Deprecated: Use [Processor.KeepTrace].
func (p *Processor) Expect(ctx context.Context) { p.KeepTrace(ctx) }

// Record prepares spec and records it. It returns the error of [Tracer.Prepare].
//
// Deprecated: Use [Tracer.Prepare] and [Prepared.Record].
func (t *Tracer) Record(ctx context.Context, spec OpSpec, times Times) error {
	p, err := t.Prepare(spec)
	p.Record(ctx, times)
	return err
}

// StartAt is [Tracer.Start] with a start in Unix nanoseconds.
//
// Deprecated: Use [Prepared.Record], or a tracer of OpenTelemetry with trace.WithTimestamp.
func (t *Tracer) StartAt(ctx context.Context, name, device string, unixNano int64) (context.Context, Op) {
	checkTime(unixNano)
	return t.orOff().start(ctx, name, device, trace.WithTimestamp(time.Unix(0, unixNano)))
}

// StartAt is [Prepared.Start] with a start in Unix nanoseconds.
//
// Deprecated: Use [Prepared.Record], or a tracer of OpenTelemetry with trace.WithTimestamp.
func (p *Prepared) StartAt(ctx context.Context, unixNano int64) (context.Context, Op) {
	checkTime(unixNano)
	return p.start(ctx, trace.WithTimestamp(time.Unix(0, unixNano)))
}

// EndAt is [Op.End] with an end in Unix nanoseconds.
//
// Deprecated: Use [Prepared.Record], or a tracer of OpenTelemetry with trace.WithTimestamp.
func (o Op) EndAt(unixNano int64) {
	checkTime(unixNano)
	if o.finish() {
		o.span.End(trace.WithTimestamp(time.Unix(0, unixNano)))
	}
}

// LaunchedAt sets the time of the launch in Unix nanoseconds.
//
// Deprecated: Use [Op.Attrs] with tensorconv.LaunchTime.
func (o Op) LaunchedAt(unixNano int64) Op {
	checkTime(unixNano)
	return o.set(tensorconv.LaunchTime(unixNano))
}

// Device replaces the device.
//
// Deprecated: Use [Recorder.Attrs] with tensorconv.DeviceID.
func (r *Recorder) Device(id string) *Recorder { return r.Attrs(tensorconv.DeviceID(id)) }

// Stream sets the device's stream.
//
// Deprecated: Use [Recorder.Attrs] with tensorconv.StreamID.
func (r *Recorder) Stream(id int64) *Recorder { return r.Attrs(tensorconv.StreamID(id)) }

// Kind sets the kind of the operation.
//
// Deprecated: Use [Recorder.Attrs] with tensorconv.OpKind.
func (r *Recorder) Kind(k op.Kind) *Recorder { return r.Attrs(tensorconv.OpKind(k)) }

// Path sets the layer or module.
//
// Deprecated: Use [Recorder.Attrs] with tensorconv.OpPath.
func (r *Recorder) Path(path string) *Recorder { return r.Attrs(tensorconv.OpPath(path)) }

// FLOPs sets the number of floating-point operations.
//
// Deprecated: Use [Recorder.Attrs] with tensorconv.OpFLOPCount.
func (r *Recorder) FLOPs(n int64) *Recorder { return r.Attrs(tensorconv.OpFLOPCount(n)) }
