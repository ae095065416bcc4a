package optrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ErrExporterShutdown is returned by an Exporter that has been shut down.
var ErrExporterShutdown = errors.New("optrace: exporter is shut down")

// Exporter is a span exporter that writes the operations among finished spans
// as entries, one JSON object per line (schema optrace.entries/v1), and the
// spans above them as ancestry records; [WithFormat] sets another form. Every
// batch is one call of the writer's Write and is flushed with it; what has been
// written is valid at any time, without a Shutdown.
//
// All methods are safe for concurrent use. ExportSpans blocks while the writer
// does, at most until its context is done. There are no retries: entries that
// could not be written are counted, and the next batch that gets through tells
// of them in a gap record. Where a write got through in part and the format is
// not one of lines, the rest of it is written before the next batch.
type Exporter struct {
	sink    *sink
	cfg     config
	traces  recentTraces
	enc     encoder // this and spare belong to whoever holds the sink
	spare   *batch
	stopped atomic.Bool
	file    *rotatingFile // nil where the writer is the caller's

	recorded, skipped atomic.Uint64
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// NewExporter returns an Exporter to w, which need not be safe for concurrent
// use and is not closed by Shutdown. Nothing is written before the first batch.
// A nil w is an error, and so are options that make no sense or need a file.
func NewExporter(w io.Writer, opts ...Option) (*Exporter, error) {
	if w == nil {
		return nil, errors.New("optrace: new exporter: the writer is nil")
	}
	cfg, err := newConfig(exporterVariables, opts)
	if err != nil {
		return nil, err
	}
	if cfg.rotation.enabled() {
		return nil, errors.New("optrace: new exporter: rotation needs a file")
	}
	return newExporter(writerTarget{w}, cfg)
}

// newExporter returns an Exporter that is usable even where the error, of
// instruments that could not be made, is not nil.
func newExporter(t target, cfg config) (*Exporter, error) {
	s, err := newSink(t, cfg)
	if err != nil {
		return nil, fmt.Errorf("optrace: new exporter: %w", err)
	}
	metrics, err := newExporterMetrics()
	s.metrics = metrics
	return &Exporter{sink: s, cfg: cfg, enc: s.format.newEncoder(cfg.mapping, maxMemoBytes)}, err
}

// ExportSpans writes the operations among spans. It keeps neither the slice
// nor the spans. After Shutdown the error is [ErrExporterShutdown]. When ctx
// ends while spans are converted, those converted so far are written and the
// others count as dropped.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if e.stopped.Load() {
		e.sink.metrics.export(len(spans))(0, ErrExporterShutdown)
		return ErrExporterShutdown
	}
	if err := ctx.Err(); err != nil {
		e.dropSpans(e.sink.format.newEncoder(e.cfg.mapping, 0), spans, "timeout")
		return err
	}
	if len(spans) == 0 {
		return nil
	}
	if err := e.sink.acquire(ctx); err != nil {
		e.dropSpans(e.sink.format.newEncoder(e.cfg.mapping, 0), spans, "timeout")
		return err
	}
	b := e.spare
	e.spare = nil
	if b == nil {
		b = newBatch(0)
	}
	done, convErr := e.encode(ctx, b, spans)
	var ctxErr error
	if done < len(spans) {
		ctxErr = ctx.Err()
		e.dropSpans(e.enc, spans[done:], "timeout")
		// What has been converted is written all the same, unless that blocks.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriteTimeout)
		defer cancel()
		ctx = short
	}
	if b.empty() {
		e.recycle(b)
		e.sink.release()
		return errors.Join(convErr, ctxErr)
	}
	return errors.Join(convErr, ctxErr, e.sink.submit(ctx, b, e.recycle))
}

// lastWriteTimeout is how long a batch that was cut short by its context may
// still take to write.
const lastWriteTimeout = time.Second

// encode adds spans to b until ctx is done and returns how many it looked at.
func (e *Exporter) encode(ctx context.Context, b *batch, spans []sdktrace.ReadOnlySpan) (n int, err error) {
	const checkEvery = 64
	for n < len(spans) {
		if ctx.Err() != nil {
			return n, err
		}
		added, addErr := e.addAll(b, spans[n:min(n+checkEvery, len(spans))])
		if n += added; addErr != nil {
			err = addErr
		}
	}
	return n, err
}

// addAll adds spans to b, of which anything may be expected, and returns how many
// it looked at: all up to one that panics, which leaves nothing behind and counts
// as dropped. Catching panics and counting for each span apart would cost 15 ns.
func (e *Exporter) addAll(b *batch, spans []sdktrace.ReadOnlySpan) (n int, err error) {
	var recorded, skipped uint64
	traces := traceNotes{recent: &e.traces}
	before := len(b.records)
	defer func() {
		if p := recover(); p != nil {
			b.records = b.records[:before]
			err = panicked(p)
			n++
			recorded++
			e.sink.drop("conversion_failed", 1)
		}
		e.recorded.Add(recorded)
		e.skipped.Add(skipped)
	}()
	for ; n < len(spans); n++ {
		s := spans[n]
		if s == nil {
			continue
		}
		before = len(b.records)
		if e.enc.addSpan(b, s, traces) == asEntry {
			recorded++
		} else {
			skipped++
		}
	}
	return n, nil
}

// dropSpans counts the operations among spans as dropped.
func (e *Exporter) dropSpans(enc encoder, spans []sdktrace.ReadOnlySpan, reason string) {
	lost := uint64(0)
	for _, s := range spans {
		if s == nil {
			continue
		}
		if isOperationSafe(enc, s) {
			lost++
		} else {
			e.skipped.Add(1)
		}
	}
	e.recorded.Add(lost)
	e.sink.drop(reason, lost)
}

// recycle keeps b for the next batch. The caller holds the sink.
func (e *Exporter) recycle(b *batch) {
	const keep = 1 << 20
	if cap(b.records) > keep {
		b = newBatch(0)
	}
	b.reset()
	e.spare = b
}

// ForceFlush waits until the batch being written is with the writer: an
// Exporter holds nothing back between batches.
func (e *Exporter) ForceFlush(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if e.stopped.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.sink.acquire(ctx); err != nil {
		return err
	}
	e.sink.release()
	return nil
}

// Shutdown ends the exporter and closes the file that it opened. It waits for
// a batch being written until ctx is done; that batch then closes the file. A
// context that is already done does not keep an idle exporter from closing.
// The second and later calls do nothing.
func (e *Exporter) Shutdown(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if e.stopped.Swap(true) {
		return nil
	}
	return e.sink.shutdown(ctx)
}

// Stats returns what became of the operations so far.
func (e *Exporter) Stats() Stats {
	st := Stats{
		Recorded: e.recorded.Load(), Skipped: e.skipped.Load(),
		Written: e.sink.written.Load(), Dropped: e.sink.dropped.Load(),
	}
	if e.stopped.Load() {
		// A write that outlived Shutdown is as good as lost.
		st.Dropped += e.sink.inFlight.Load()
	}
	if e.file != nil {
		st.DeletedFiles = e.file.deleted.Load()
	}
	return st
}

// MarshalLog describes the exporter in the SDK's log, without paths.
func (e *Exporter) MarshalLog() any {
	log := struct {
		Type        string
		Format      string
		Compression string
	}{Type: "optrace"}
	if e != nil {
		log.Format, log.Compression = e.sink.format.name(), e.cfg.compression.String()
	}
	return log
}
