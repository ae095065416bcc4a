package optrace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/observ"
)

// Times holds the times of an operation that has ended, in Unix nanoseconds. [Prepared.Record] and [Recorder.Record]
// take operations in any order. Package deviceclock converts a device's times to Unix nanoseconds. A [Queue] waits for
// the device and then records.
//
// The spans above an operation may have ended. An [Exporter] keeps ended spans in bounded memory and writes them with
// the first operation below them. LostParents of [Stats] counts spans missing for lack of memory; [Processor.KeepTrace]
// avoids the wait.
//
// Invalid times are recorded unchanged. Readers count them in the warnings and suspects of a report:
//
//   - an End before the Start: the duration is 0, with the warning neg_duration
//   - a Start or End of 0 or less: the entry has no start, and the warning bad_time. A Tracer makes no span
//     and reports to OpenTelemetry's error handler
//   - a time before the year 2000: the first one is reported to the error handler, because
//     milliseconds in place of nanoseconds are in 1970
//   - a Start before the Start of the span above: counted as clock, if the span is known
//   - a Launch after the Start: counted as early
//
// An unsampled trace records no operations, unless its sampler and Processor record all spans, as in [Setup]. A
// Recorder of a Processor and a Queue count these operations as skipped; a Tracer does not.
type Times struct {
	Start, End int64
	// Launch is the time at which the host enqueued the operation, tensor.launch.time. 0 is unknown.
	Launch int64
}

// Record makes a span of an operation that has ended, below the span of ctx, which may have ended too; see [Times]. It
// adds attrs to the prepared attributes.
func (p *Prepared) Record(ctx context.Context, t Times, attrs ...attribute.KeyValue) {
	if p == nil || p.tracer == nil {
		return
	}
	p.tracer.record(ctx, p, &t, attrs)
}

// record makes a span with times. Its options use memory of the pool.
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

func noTimes(name string) error {
	return fmt.Errorf("optrace: recording %s: it has no start or no end", name)
}

// check checks each time of t.
func (t *Times) check() {
	checkTime(t.Start)
	checkTime(t.End)
	checkTime(t.Launch)
}

var earlyReported atomic.Bool // set after the first report of a time before the year 2000

// checkTime reports the first positive time before the year 2000 to OpenTelemetry's error handler. 0 is unknown.
func checkTime(unixNano int64) {
	if unixNano > 0 && unixNano < opmodel.Year2000 && !earlyReported.Load() {
		reportEarly(unixNano)
	}
}

func reportEarly(unixNano int64) {
	if earlyReported.Swap(true) {
		return
	}
	looksLike := "is in 1970"
	if unit := opmodel.TimeUnit(unixNano); unit != "" {
		looksLike = "looks like " + unit
	} else if at := time.Unix(0, unixNano).UTC(); at.Year() > 1970 {
		looksLike = fmt.Sprint("is in ", at.Year())
	}
	const text = "optrace: recording operations: times are Unix nanoseconds; %d %s"
	new(observ.Errors).Report(fmt.Errorf(text, unixNano, looksLike))
}
