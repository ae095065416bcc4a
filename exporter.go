package optrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/traces"
)

// ErrExporterShutdown is returned by an Exporter that has been shut down.
var ErrExporterShutdown = sink.ErrShutdown

// Exporter is a span exporter that writes the operations among finished spans as entries, one
// JSON object per line (schema optrace.entries/v1), and the spans above them as ancestry
// records; [WithFormat] sets another format. Every batch is one call of the writer's Write, and
// the output is valid at any time, without a Shutdown.
//
// All methods are safe for concurrent use. Entries that could not be written are counted, and the
// next batch that is written reports them in a gap record. If a write was partial and the format
// does not consist of lines, the remainder is written first. A nil or zero Exporter does nothing.
type Exporter struct {
	sink    *sink.Sink
	cfg     exporterConfig
	format  encoding.Format
	traces  traces.WithOps
	enc     encoding.Encoder // this and spare belong to the holder of the sink
	spare   *encoding.Batch
	users   atomic.Int32 // processors in front of it
	stopped atomic.Bool
	skipped atomic.Uint64
	deleted func() uint64 // how many rotated files
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// NewExporter returns an Exporter to w, which need not be safe for concurrent use and is not
// closed by Shutdown. A nil w and options with values that make no sense are errors.
func NewExporter(w io.Writer, opts ...ExporterOption) (*Exporter, error) {
	if isNil(w) {
		return nil, errors.New("optrace: new exporter: the writer is nil")
	}
	cfg, err := newExporterConfig(false, opts)
	if err == nil && cfg.rotation.Enabled() {
		err = errors.New("optrace: new exporter: rotation is for files")
	}
	if err != nil {
		return nil, err
	}
	return newExporter(sink.ToWriter(w), cfg)
}

// NewFileExporter returns an Exporter that appends to the file at path, which is created readable
// for its owner only if it does not exist. Shutdown closes the file.
//
// A file that holds something else, or has another format or compression, is an error and stays
// as it is. Nothing that is in a file is ever removed or overwritten: an incomplete line is ended
// by a newline, and a file that is damaged is renamed as [WithRotation] does before a batch.
//
// A file that is renamed or removed is created again. Several processes with the same options may
// append to one file, and any of them may be killed: one batch that was cut off costs no other.
// Where the system has advisory locks a process holds one while it writes a batch.
//
// A symbolic link to a regular file is refused, so that nobody can lead the operations elsewhere.
func NewFileExporter(path string, opts ...ExporterOption) (*Exporter, error) {
	if path == "" {
		return nil, errors.New("optrace: opening the file to export to: the path is empty")
	}
	cfg, err := newExporterConfig(true, opts)
	if err != nil {
		return nil, err
	}
	f, err := rotate.Open(path, cfg.rotation, sink.Inspect(cfg.output(), sink.Compression(cfg.compression)))
	if err != nil {
		return nil, fmt.Errorf("optrace: opening the file to export to: %w", err)
	}
	e, err := newExporter(f, cfg)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	e.deleted = f.Deleted
	return e, nil
}

func newExporter(t sink.Target, cfg exporterConfig) (*Exporter, error) {
	f := cfg.output()
	s, err := sink.New(t, f, sink.Compression(cfg.compression), observ.NewExporter(scope))
	if err != nil {
		return nil, fmt.Errorf("optrace: new exporter: %w", err)
	}
	return &Exporter{
		sink: s, cfg: cfg, format: f, enc: f.NewEncoder(cfg.mapping, int(cfg.cacheBytes)),
		deleted: func() uint64 { return 0 },
	}, nil
}

// isOff reports whether e writes nothing.
func (e *Exporter) isOff() bool { return e == nil || e.sink == nil }

// isNil reports whether v is nil or a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// scope is the instrumentation scope of the plugin's own metrics and spans.
var scope = instrumentation.Scope{Name: ScopeName, Version: Version}

// ExportSpans writes the operations among spans and the spans above them. Spans of traces without
// operations so far are kept for operations that come later, see LostParents of [Stats]. ExportSpans
// blocks while the writer does, until ctx ends: what has been converted by then is written, the rest is
// dropped.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx = orBackground(ctx)
	if e.isOff() {
		return nil
	}
	if e.stopped.Load() {
		e.sink.Refuse(len(spans))
		return ErrExporterShutdown
	}
	var err error
	for first := true; len(spans) > 0 || first; first = false {
		n, batchErr := e.exportBatch(ctx, spans)
		spans, err = spans[n:], errors.Join(err, batchErr)
	}
	return err
}

// exportBatch writes as many of the spans as one batch takes, and returns how many those are.
func (e *Exporter) exportBatch(ctx context.Context, spans []sdktrace.ReadOnlySpan) (n int, err error) {
	if err := ctx.Err(); err != nil {
		e.dropSpans(spans)
		return len(spans), err
	}
	if len(spans) == 0 {
		return 0, nil
	}
	if err := e.sink.Acquire(ctx); err != nil {
		e.dropSpans(spans)
		return len(spans), err
	}
	b := e.spare
	e.spare = nil
	if b == nil {
		b = encoding.NewBatch(0)
	}
	n, convErr := e.encode(ctx, b, spans)
	var ctxErr error
	if n < len(spans) && !b.Full() {
		ctxErr = ctx.Err()
		e.dropSpans(spans[n:])
		n = len(spans)
		// What has been converted is still written, unless that blocks.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriteTimeout)
		defer cancel()
		ctx = short
	}
	if b.Empty() {
		e.recycle(b)
		e.sink.Release()
		return n, errors.Join(convErr, ctxErr)
	}
	return n, errors.Join(convErr, ctxErr, e.sink.Submit(ctx, b, e.recycle))
}

const lastWriteTimeout = time.Second // for a batch that was cut short by its context

// encode adds spans to b until it is full or ctx is done and returns how many it
// looked at. One that panics counts as dropped.
func (e *Exporter) encode(ctx context.Context, b *encoding.Batch, spans []sdktrace.ReadOnlySpan) (n int, err error) {
	const checkEvery = 64
	for ; n < len(spans) && !b.Full(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return n, err
		}
		if spans[n] == nil {
			continue
		}
		out, addErr := encoding.AddSpan(e.enc, b, spans[n], &e.traces)
		switch {
		case addErr != nil:
			e.sink.Drop("conversion_failed", 1)
			err = addErr
		case out != encoding.Entry:
			e.skipped.Add(1)
		}
	}
	return n, err
}

// dropSpans counts the operations among spans as dropped for want of time.
func (e *Exporter) dropSpans(spans []sdktrace.ReadOnlySpan) {
	lost := uint64(0)
	for _, s := range spans {
		if s == nil {
			continue
		}
		if encoding.IsOperation(e.cfg.mapping, s) {
			lost++
		} else {
			e.skipped.Add(1)
		}
	}
	e.sink.Drop("timeout", lost)
}

// recycle keeps b for the next batch. The caller holds the sink.
func (e *Exporter) recycle(b *encoding.Batch) {
	const keep = 1 << 20
	if b.Memory() > keep {
		b = encoding.NewBatch(0)
	}
	b.Reset()
	e.spare = b
}

// ForceFlush waits until the batch being written is with the writer.
func (e *Exporter) ForceFlush(ctx context.Context) error {
	ctx = orBackground(ctx)
	if e.isOff() || e.stopped.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.sink.Acquire(ctx); err != nil {
		return err
	}
	e.sink.Release()
	return nil
}

// Shutdown ends the exporter and closes the file that it opened. It waits for a batch being
// written until ctx is done, or for ten seconds if ctx has no deadline; that batch then closes the
// file. The second and later calls do nothing.
func (e *Exporter) Shutdown(ctx context.Context) error {
	ctx = orBackground(ctx)
	if e.isOff() || e.stopped.Swap(true) {
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		short, cancel := context.WithTimeout(ctx, shutdownWait)
		defer cancel()
		ctx = short
	}
	return e.sink.Shutdown(ctx)
}

const shutdownWait = 10 * time.Second // for a writer, without a deadline

// Stats returns what became of the operations so far.
func (e *Exporter) Stats() Stats {
	if e.isOff() {
		return Stats{}
	}
	n := e.sink.Stats()
	st := Stats{
		Recorded: n.Written + n.Dropped + n.Underway, Written: n.Written, Dropped: n.Dropped,
		Skipped: e.skipped.Load(), Shortened: n.Shortened, DeletedFiles: e.deleted(), LostParents: e.traces.LostParents(),
	}
	if e.stopped.Load() {
		// A write that has not returned by Shutdown counts as lost.
		st.Dropped += n.Underway
	}
	return st
}

// MarshalLog describes the exporter in the SDK's log, without paths.
func (e *Exporter) MarshalLog() any {
	log := struct{ Type, Format, Compression string }{Type: "optrace"}
	if !e.isOff() {
		log.Format, log.Compression = e.format.Name(), e.cfg.compression.String()
	}
	return log
}

// Stats counts what became of the operations that an exporter or a processor
// was given.
type Stats struct {
	// Recorded counts operations.
	Recorded uint64
	// Written counts those that the writer, or the exporter behind a processor, has taken.
	Written uint64
	// Dropped counts those that are lost: for want of room or time, or because a write failed.
	// After Shutdown Recorded is Written plus Dropped; before, the difference is under way.
	Dropped uint64
	// Skipped counts spans that are no operations, and those that a filter or sampling left out.
	Skipped uint64
	// Shortened counts the operations, and the spans above them, that were too large to be read
	// again: texts were cut, and end with "…", or attributes, events and links left out, which
	// count as dropped of the span.
	Shortened uint64
	// DeletedFiles counts the rotated files that were deleted, see [Rotation].
	DeletedFiles uint64
	// Forgotten counts spans that had not ended when a [Processor] forgot them. It knows the open
	// local roots, and the open spans of traces with several, in at most 24 MiB, which is
	// about a hundred thousand. Operations below a root that was forgotten have no Root.
	Forgotten uint64
	// LostParents counts spans above operations that are not in the recording. A span that ends before
	// any operation of its trace waits for an operation below it, in 8 MiB of an [Exporter]'s memory, or
	// in 1 MiB before the first operation of any trace. If it makes room for spans that end later, and an
	// operation below it is recorded then, LostParents counts it, once. The Exporter can tell for about
	// the last 30,000 spans that waited, 4,000 before the first operation. Spans above one that it cannot
	// tell of are not counted either. [Processor.Expect] avoids the wait. Processors in front of one
	// Exporter share the count.
	LostParents uint64
	// Unsummed counts the operations that [WithForwardThreshold] left out and that no event tells
	// of: the sums below open local roots take at most 32 MiB. What ends below their roots later
	// is forwarded.
	Unsummed uint64
}
