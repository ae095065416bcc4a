package optrace

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queuePipeline hands spans, non-operations included, to an exporter that
// takes spans, such as an OTLP exporter. One goroutine exports, so that the
// exporter's calls do not overlap.
type queuePipeline struct {
	next    sdktrace.SpanExporter
	timeout time.Duration
	policy  Policy
	limit   int64

	mu       sync.Mutex
	space    sync.Cond // spans left the queue, or the pipeline stops
	queue    []queued
	head     int   // queue[:head] has been taken
	bytes    int64 // of the spans in the queue
	stopped  bool
	recorded uint64
	written  uint64
	dropped  uint64
	// inFlight is how many spans the exporter has been given and has not
	// returned; abandoned tells that nobody waits for it any more.
	inFlight  uint64
	abandoned bool

	wake    chan struct{}
	flushes chan flushRequest
	stopReq chan flushRequest
	done    chan struct{}
	errs    *errorReporter
	safety  safety
	ctx     context.Context
	cancel  context.CancelFunc
}

type queued struct {
	span  sdktrace.ReadOnlySpan
	bytes int64
}

// maxExportBatch is how many spans an exporter gets at a time, as the SDK's
// batch processor has it.
const maxExportBatch = 512

func newQueuePipeline(next sdktrace.SpanExporter, cfg processorConfig, errs *errorReporter) *queuePipeline {
	p := &queuePipeline{
		next:    next,
		timeout: cfg.exportTimeout,
		policy:  cfg.policy,
		limit:   cfg.maxBytes,
		wake:    make(chan struct{}, 1),
		flushes: make(chan flushRequest),
		stopReq: make(chan flushRequest, 1),
		done:    make(chan struct{}),
		errs:    errs,
	}
	p.space.L = &p.mu
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.run(cfg.flushInterval)
	return p
}

// spanBytes estimates what a finished span keeps in memory: the snapshot, its
// attributes at the size of a KeyValue, events and links at about that of a
// small span.
func spanBytes(s sdktrace.ReadOnlySpan) int64 {
	const snapshot, keyValue, part = 416, 64, 256
	return snapshot + keyValue*int64(len(s.Attributes())) + part*int64(len(s.Events())+len(s.Links()))
}

func (p *queuePipeline) takingViews() viewPipeline { return nil }

func (p *queuePipeline) onEnd(f finished) {
	s, _ := p.safety.span(f.span)
	size := spanBytes(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.recorded++
	for p.bytes+size > p.limit && p.head < len(p.queue) {
		switch p.policy {
		case Block:
			p.notify()
			p.space.Wait()
			if p.stopped {
				p.dropped++
				return
			}
		case DropOldest:
			p.bytes -= p.queue[p.head].bytes
			p.queue[p.head] = queued{}
			p.head++
			p.compact()
			p.dropped++
		default:
			p.dropped++
			return
		}
	}
	p.queue = append(p.queue, queued{s, size})
	p.bytes += size
	if len(p.queue)-p.head >= maxExportBatch || p.bytes > p.limit/2 {
		p.notify()
	}
}

// compact gives back the room of the spans that have left the queue. The
// caller holds the lock.
func (p *queuePipeline) compact() {
	if p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	} else if p.head > len(p.queue)/2 {
		n := copy(p.queue, p.queue[p.head:])
		clear(p.queue[n:])
		p.queue, p.head = p.queue[:n], 0
	}
}

func (p *queuePipeline) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take moves up to a batch of spans out of the queue.
func (p *queuePipeline) take(batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.head < len(p.queue) && len(batch) < maxExportBatch {
		q := p.queue[p.head]
		p.queue[p.head] = queued{}
		p.head++
		p.bytes -= q.bytes
		batch = append(batch, q.span)
	}
	p.inFlight = uint64(len(batch))
	p.compact()
	p.space.Broadcast()
	return batch
}

func (p *queuePipeline) run(interval time.Duration) {
	defer close(p.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, maxExportBatch)
	for {
		select {
		case <-p.wake:
			p.errs.report(p.exportAll(p.ctx, batch))
		case <-ticker.C:
			p.errs.report(p.exportAll(p.ctx, batch))
		case req := <-p.flushes:
			req.done <- p.exportAll(req.ctx, batch)
		case req := <-p.stopReq:
			err := p.exportAll(req.ctx, batch)
			p.dropRest()
			req.done <- err
			return
		}
	}
}

// exportAll exports what is in the queue, until ctx is done.
func (p *queuePipeline) exportAll(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	var first error
	for ctx.Err() == nil {
		spans := p.take(batch[:0])
		if len(spans) == 0 {
			return first
		}
		err := p.export(ctx, spans)
		p.mu.Lock()
		p.inFlight = 0
		if err == nil {
			p.written += uint64(len(spans))
		} else {
			p.dropped += uint64(len(spans))
		}
		p.mu.Unlock()
		if first == nil {
			first = err
		}
		clear(spans) // exporters must not keep the slice; do not keep the spans
	}
	if first == nil {
		first = ctx.Err()
	}
	return first
}

func (p *queuePipeline) export(ctx context.Context, spans []sdktrace.ReadOnlySpan) (err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("optrace: exporter panicked: %v", r)
		}
	}()
	return p.next.ExportSpans(ctx, spans)
}

func (p *queuePipeline) dropRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped += uint64(len(p.queue) - p.head)
	p.queue, p.head, p.bytes = nil, 0, 0
}

func (p *queuePipeline) flush(ctx context.Context) error {
	return requestFlush(ctx, p.flushes, p.done)
}

func (p *queuePipeline) stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.space.Broadcast()
	p.mu.Unlock()
	ended, err := requestStop(ctx, p.stopReq, p.done, p.cancel)
	if !ended {
		p.dropRest()
		p.mu.Lock()
		p.abandoned = true
		p.mu.Unlock()
	}
	return err
}

func (p *queuePipeline) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := Stats{Recorded: p.recorded, Written: p.written, Dropped: p.dropped}
	if p.abandoned {
		st.Dropped += p.inFlight
	}
	return st
}
