package optrace

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/tensorconv"
)

// Times says when an operation ran that is recorded after the fact, in Unix nanoseconds, and when the
// host launched it. Operations are recorded in any order; see [Prepared.Record], [Tracer.Record] and
// [Recorder.Record]. Package deviceclock makes Unix nanoseconds of the times of a device, and a [Queue]
// records operations when the device has got through them.
//
// The spans above an operation may have ended. An [Exporter] keeps spans that end in bounded memory, and
// writes them with the first operation below them. Those that made room for others before are missing in
// the recording: LostParents of [Stats] counts them, and [Processor.Expect] avoids it.
//
// Times are recorded as they are, those of StartAt and EndAt too; what cannot be right is counted by
// readers, in the warnings and suspects of a report:
//
//   - an End before the Start: the duration is 0, with the warning neg_duration
//   - a Start or End that is not positive: an entry has no start, and the warning bad_time; no span
//     is made, and the error handler of OpenTelemetry is told
//   - a time before the year 2000: as it is, and the error handler is told once, because milliseconds in
//     place of nanoseconds are in 1970
//   - a Start before that of the span above: counted as clock, if that is known
//   - a Launch after the Start: as it is, counted as early
//
// In a trace that is not sampled nothing is recorded, unless the sampler and the Processor record it all
// the same, as those of [Setup] do. A Processor counts what its Recorder was given
// for such a trace as skipped, and a Queue does; a Tracer counts no spans.
type Times struct {
	Start, End int64
	// Launch, tensor.launch.time, is when the host enqueued the operation; 0 where it is not known.
	Launch int64
}

// Record makes a span of an operation that has ended, below the span of ctx, which may have ended before,
// see [Times]. attrs are added to the prepared attributes. A nil Prepared records nothing.
func (p *Prepared) Record(ctx context.Context, t Times, attrs ...attribute.KeyValue) {
	if p == nil || p.tracer == nil {
		return
	}
	p.tracer.record(ctx, p, &t, attrs)
}

// Record makes a span of an operation that has ended, below the span of ctx, which may have ended before,
// see [Times]. Its errors are those of [Tracer.Prepare]. Operations that repeat cost less with
// [Prepared.Record].
func (t *Tracer) Record(ctx context.Context, spec OpSpec, times Times) error {
	p, err := t.Prepare(spec)
	if err != nil {
		return err
	}
	p.Record(ctx, times)
	return nil
}

// record makes a span with times. The memory of its options comes from the pool.
func (t *Tracer) record(ctx context.Context, p *Prepared, times *Times, further []attribute.KeyValue) {
	if times.Start <= 0 || times.End <= 0 {
		t.errs.Report(noTimes(p.name))
		return
	}
	times.check()
	ctx = orBackground(ctx)
	s := t.pool.Get().(*opState)
	s.start[0] = trace.WithTimestamp(time.Unix(0, times.Start))
	_, span := t.tracer.Start(ctx, p.name, s.start[:]...)
	if span.IsRecording() {
		p.setAttributes(ctx, span, times.Launch, further)
	}
	s.end[0] = trace.WithTimestamp(time.Unix(0, times.End))
	span.End(s.end[:]...)
	t.recycle(s)
}

// check is checkTime for all times that are known.
func (t *Times) check() {
	checkTime(t.Start)
	checkTime(t.End)
	checkTime(t.Launch)
}

func noTimes(name string) error {
	return fmt.Errorf("optrace: recording %s: it has no start or no end", name)
}

// StartAt is [Tracer.Start] for an operation that started at a time in Unix nanoseconds.
func (t *Tracer) StartAt(ctx context.Context, name, device string, unixNano int64) (context.Context, Op) {
	checkTime(unixNano)
	return t.orOff().start(ctx, name, device, trace.WithTimestamp(time.Unix(0, unixNano)))
}

// StartAt is [Prepared.Start] for an operation that started at a time in Unix nanoseconds.
func (p *Prepared) StartAt(ctx context.Context, unixNano int64) (context.Context, PreparedOp) {
	checkTime(unixNano)
	return p.start(ctx, trace.WithTimestamp(time.Unix(0, unixNano)))
}

// LaunchedAt sets when the host launched the operation on the device, in Unix nanoseconds.
func (o Op) LaunchedAt(unixNano int64) Op {
	checkTime(unixNano)
	return o.set(tensorconv.LaunchTime(unixNano))
}

// Record adds an operation on device, which may be "", that has ended. It ends the one under way. The span
// above may have ended before Finish, see [Times].
func (r *Recorder) Record(name, device string, t Times) *Recorder {
	if o := r.record(&t); o != nil {
		o.name, o.device = name, device
	}
	return r
}

// RecordPrepared is Record for an operation that repeats, as BeginPrepared is Begin.
func (r *Recorder) RecordPrepared(p *Prepared, t Times) *Recorder {
	if o := r.record(&t); o != nil && p != nil {
		o.name, o.prepared = p.name, p
	}
	return r
}

// record adds an operation, unless r is off: then it returns nil.
func (r *Recorder) record(t *Times) *recordedOp {
	if r.isOff() {
		return nil
	}
	t.check()
	r.End()
	if r.isFull() {
		r.flush()
	}
	o := r.add()
	o.start, o.end, o.launch, o.unix = t.Start, t.End, t.Launch, true
	return o
}

// Expect says that operations of the trace of ctx will be recorded later: spans of the trace that end
// after the call are written when they end. Without Expect they wait in memory for operations below them,
// which may not suffice where requests end long before their operations, or many at once; see LostParents
// of [Stats]. [Processor.Recorder] and, with a Queue of the Processor, [Queue.Begin] call Expect. A
// Processor remembers about the last 16,000 traces that hold operations or are expected.
func (p *Processor) Expect(ctx context.Context) {
	if ctx != nil && !p.isOff() {
		p.expect(ctx)
	}
}
