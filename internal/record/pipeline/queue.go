package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/span"
)

type queue struct {
	worker
	next   sdktrace.SpanExporter
	policy Policy
	limit  int64

	mu      sync.Mutex
	space   sync.Cond // spans left the queue, or the pipeline stops
	spans   []queued
	head    int   // spans[:head] have left
	bytes   int64 // of the spans in the queue
	stopped bool

	recorded, exported, written, failed, lost uint64

	abandoned bool // Stop returned during an export

	batch []sdktrace.ReadOnlySpan // being exported

	resource atomic.Pointer[cleanResource] // of the last operation: a process has one
}

type cleanResource struct{ given, clean *resource.Resource }

type queued struct {
	span  sdktrace.ReadOnlySpan
	bytes int64
}

const maxExportBatch = 512 // spans at a time, like the SDK's batch processor

// NewQueue returns a Pipeline that queues spans in front of next.
func NewQueue(next sdktrace.SpanExporter, cfg Config, errs *observ.Errors) Pipeline {
	p := &queue{
		next: next, policy: cfg.Policy, limit: cfg.MaxBytes, batch: make([]sdktrace.ReadOnlySpan, 0, maxExportBatch),
	}
	p.worker = newWorker(errs, cfg.ExportTimeout, func() uint64 { st := p.Stats(); return st.Written + st.Dropped })
	p.space.L = &p.mu
	go p.run(cfg.FlushInterval, nil, work{woken: p.exportAll, due: p.exportAll, end: func(ctx context.Context) error {
		defer p.dropRest()
		return p.exportAll(ctx)
	}})
	return p
}

func spanBytes(s sdktrace.ReadOnlySpan) int64 {
	return int64(span.Bytes(s.Name(), s.Status(), s.Attributes(), s.Events(), s.Links()))
}

func (p *queue) OnEnd(e span.Ended) {
	s := e.ReadOnly()
	if attrs := s.Attributes(); span.IsOperation(nil, attrs) { // other spans are the application's
		s = p.clean(s, attrs)
	}
	size := spanBytes(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorded++
	if p.stopped {
		p.lost++
		return
	}
	for p.bytes+size > p.limit && p.head < len(p.spans) {
		switch p.policy {
		case Block:
			p.notify()
			p.space.Wait()
			if p.stopped {
				p.lost++
				return
			}
		case DropOldest:
			p.bytes -= p.spans[p.head].bytes
			p.spans[p.head] = queued{}
			p.head++
			p.compact()
			p.lost++
		default:
			p.lost++
			return
		}
	}
	p.spans = append(p.spans, queued{s, size})
	p.bytes += size
	if len(p.spans)-p.head >= maxExportBatch || p.bytes > p.limit/2 {
		p.notify()
	}
}

// clean returns s in clean form, see span.Data.Clean. Nearly always that is s itself.
func (p *queue) clean(s sdktrace.ReadOnlySpan, attrs []attribute.KeyValue) sdktrace.ReadOnlySpan {
	parts := span.Data{Context: s.SpanContext(), Parent: s.Parent(), Attrs: attrs, Events: s.Events(), Links: s.Links()}
	given := s.Resource()
	res := p.resource.Load()
	if res == nil || res.given != given {
		res = &cleanResource{given, span.CleanResource(given)}
		p.resource.Store(res)
	}
	if !parts.Clean() && res.clean == given {
		return s
	}
	d := span.ReadAll(s, parts.Context, s.Parent())
	d.Clean()
	d.Resource = res.clean
	return cleanSpan{span.Snapshot(&d), s.ChildSpanCount()}
}

// cleanSpan is a span with its number of children, a figure outside span.Data.
type cleanSpan struct {
	sdktrace.ReadOnlySpan
	children int
}

func (s cleanSpan) ChildSpanCount() int { return s.children }

// compact reuses the memory of spans that have left the queue. The caller holds the lock.
func (p *queue) compact() {
	if p.head == len(p.spans) {
		p.spans = p.spans[:0]
		p.head = 0
	} else if p.head > len(p.spans)/2 {
		n := copy(p.spans, p.spans[p.head:])
		clear(p.spans[n:])
		p.spans = p.spans[:n]
		p.head = 0
	}
}

func (p *queue) take(batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.head < len(p.spans) && len(batch) < maxExportBatch {
		q := p.spans[p.head]
		p.spans[p.head] = queued{}
		p.head++
		p.bytes -= q.bytes
		batch = append(batch, q.span)
	}
	p.exported += uint64(len(batch))
	p.compact()
	p.space.Broadcast()
	return batch
}

func (p *queue) exportAll(ctx context.Context) error {
	var first error
	for ctx.Err() == nil {
		spans := p.take(p.batch[:0])
		if len(spans) == 0 {
			return first
		}
		err := p.export(ctx, spans)
		p.mu.Lock()
		if err == nil {
			p.written += uint64(len(spans))
		} else {
			p.failed += uint64(len(spans))
		}
		p.mu.Unlock()
		if first == nil {
			first = err
		}
		clear(spans) // exporters must not keep the slice, and the queue must not keep the spans
	}
	if first == nil {
		first = fmt.Errorf("optrace: exporting spans: %w", ctx.Err())
	}
	return first
}

func (p *queue) export(ctx context.Context, spans []sdktrace.ReadOnlySpan) (err error) {
	ctx, cancel := p.attempt(ctx)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("optrace: exporter panicked: %v", r)
		}
	}()
	if err = p.next.ExportSpans(ctx, spans); err != nil {
		err = fmt.Errorf("optrace: exporting %d spans: %w", len(spans), err)
	}
	return err
}

func (p *queue) dropRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost += uint64(len(p.spans) - p.head)
	p.spans = nil
	p.head = 0
	p.bytes = 0
}

func (p *queue) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.space.Broadcast()
	p.mu.Unlock()
	ended, err := p.stop(ctx)
	if !ended {
		p.dropRest()
		p.mu.Lock()
		p.abandoned = true
		p.mu.Unlock()
	}
	return err
}

func (p *queue) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := Stats{Recorded: p.recorded, Exported: p.exported, Written: p.written, Dropped: p.lost + p.failed,
		Lost: p.lost}
	if p.abandoned {
		st.Dropped += p.exported - p.written - p.failed
	}
	return st
}
