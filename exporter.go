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

// ErrExporterShutdown is the error of an Exporter after Shutdown.
var ErrExporterShutdown = sink.ErrShutdown

// Exporter writes the operations among finished spans as entries, one JSON object per line (schema optrace.entries/v1),
// and the spans above them as ancestry records. [WithFormat] sets another format. It writes each batch with one Write
// call. Its output is valid after every Write, without a Shutdown.
//
// All methods are safe for concurrent use. An Exporter counts entries that it could not write, and the next batch
// reports them in a gap record. After a partial write it writes the rest first, unless the format consists of lines. A
// nil or zero Exporter is a no-op.
type Exporter struct {
	sink    *sink.Sink
	cfg     exporterConfig
	format  encoding.Format
	traces  traces.WithOps
	enc     encoding.Encoder // the holder of the sink owns enc and spare
	spare   *encoding.Batch
	users   atomic.Int32 // processors in front of the Exporter
	stopped atomic.Bool
	skipped atomic.Uint64
	deleted func() uint64 // counts deleted files
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// NewExporter returns an Exporter to w. w need not be safe for concurrent use, and Shutdown does not close it.
// NewExporter returns an error if w is nil or an option is invalid.
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

// NewFileExporter returns an Exporter that appends to the file at path. It creates the file, readable for its owner
// only. Shutdown closes it.
//
// NewFileExporter returns an error, and leaves the file unchanged, if the file has other contents, another format or
// another compression, or if path is a symbolic link to a regular file, which could lead elsewhere. The Exporter never
// removes or overwrites data: it ends an incomplete line with a newline, and renames a damaged file, as [WithRotation]
// does, before it writes a batch.
//
// The Exporter creates a renamed or removed file again. Several processes with the same options may append to one file:
// each takes an advisory lock, if the system has them, to write a batch. A process killed within a write loses this
// batch only.
func NewFileExporter(path string, opts ...ExporterOption) (*Exporter, error) {
	if path == "" {
		return nil, errors.New("optrace: opening the file to export to: the path is empty")
	}
	cfg, err := newExporterConfig(true, opts)
	if err != nil {
		return nil, err
	}
	inspect := sink.Inspect(cfg.output(), sink.Compression(cfg.compression))
	f, err := rotate.Open(path, cfg.rotation, inspect)
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

// isOff reports whether e is nil or zero.
func (e *Exporter) isOff() bool { return e == nil || e.sink == nil }

// isNil reports whether v is nil or a nil pointer.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}

// scope is the instrumentation scope of the plugin's own metrics and spans.
var scope = instrumentation.Scope{Name: ScopeName, Version: Version}

// ExportSpans writes the operations among spans and the spans above them. It keeps spans of other traces for later
// operations; see LostParents of [Stats]. It blocks while the writer does, until ctx ends. It then writes the
// operations converted so far and drops the rest.
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
		spans = spans[n:]
		err = errors.Join(err, batchErr)
	}
	return err
}

// exportBatch writes one batch and returns the number of spans in it.
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
		// Write the converted operations, unless the writer blocks.
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

const lastWriteTimeout = time.Second // for a batch cut short by its context

// encode adds spans to b until b is full or ctx is done. It returns the number of spans read. A span that panics counts
// as dropped.
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

// dropSpans counts the operations among spans as dropped because of a timeout.
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

// ForceFlush waits for the batch being written.
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

// Shutdown ends the Exporter and closes its file. It waits for the batch being written until ctx is done, or for ten
// seconds if ctx has no deadline; a later end of this write closes the file. Further calls are no-ops.
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

const shutdownWait = 10 * time.Second // without a deadline

// Stats returns the counts so far.
func (e *Exporter) Stats() Stats {
	if e.isOff() {
		return Stats{}
	}
	n := e.sink.Stats()
	st := Stats{
		Recorded: n.Written + n.Dropped + n.Underway, Written: n.Written, Dropped: n.Dropped,
		Skipped: e.skipped.Load(), Shortened: n.Shortened,
		DeletedFiles: e.deleted(), LostParents: e.traces.LostParents(),
	}
	if e.stopped.Load() {
		st.Dropped += n.Underway // a write still running after Shutdown is lost
	}
	return st
}

// MarshalLog describes the Exporter for the SDK's log, without paths.
func (e *Exporter) MarshalLog() any {
	log := struct{ Type, Format, Compression string }{Type: "optrace"}
	if !e.isOff() {
		log.Format = e.format.Name()
		log.Compression = e.cfg.compression.String()
	}
	return log
}

// Stats counts the operations of an Exporter or a Processor by outcome.
type Stats struct {
	Recorded uint64 // all operations; after Shutdown the sum of Written and Dropped
	Written  uint64 // taken by the writer, or by the exporter of a forwarder
	Dropped  uint64 // lost for lack of room or time, or because a write failed
	Skipped  uint64 // other spans, and operations left out by a filter or by sampling
	// Shortened counts operations, and spans above them, too large for readers: the Exporter cut their texts, which end
	// with "…", or removed attributes, events and links, and counted these as the span's dropped ones.
	Shortened uint64
	// DeletedFiles counts deleted rotated files; see [Rotation].
	DeletedFiles uint64
	// EvictedSpans counts open spans removed from a [Processor]'s table of open local roots, and of open spans of
	// traces with several. The table takes at most 24 MiB, about a hundred thousand spans. Operations below an evicted
	// root have no Root.
	EvictedSpans uint64
	// LostParents counts spans above operations missing in the recording. A span that ends before the first operation
	// of its trace waits for one, in 8 MiB of the [Exporter]'s memory, or in 1 MiB before the first operation of any
	// trace. Later spans may displace it; an operation recorded below it then counts it here, once. The Exporter
	// remembers about the last 30,000 waiting spans, 4,000 before the first operation; older ones, and spans above
	// them, are not counted. [Processor.KeepTrace] avoids the wait. Processors in front of one Exporter share the
	// count.
	LostParents uint64
	// Unsummarized counts operations left out by [WithForwardThreshold] and missing in its summary events: the sums
	// below open local roots take at most 32 MiB. Later operations below their roots are forwarded.
	Unsummarized uint64
}
