package pipeline

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/span"
)

type buffered struct {
	worker
	out     Output
	buffers *bufferPool
	shards  []shard
	local   sync.Pool // returns the shard that the processor used last; a hint only
	next    atomic.Uint32
	ended   atomic.Bool // after Stop

	exported, written, failed, lost atomic.Uint64
}

type shard struct {
	mu                sync.Mutex
	enc               encoding.Encoder
	buffer            *encoding.Batch // nil while empty
	stopped           bool
	recorded, skipped uint64
	_                 [64]byte // keeps shards on cache lines of their own
}

// MinMaxBytes is the smallest bound of all buffers.
const MinMaxBytes = 64 << 10

// The sizes of the buffers. Together they take Config.MaxBytes.
const (
	maxBufferSize   = 128 << 10
	minBufferSize   = 4 << 10
	buffersPerShard = 4
	bufferReserve   = 2 << 10 // free for another record; a larger one makes the buffer grow
)

// NewBuffered returns a Pipeline that encodes spans as they end and writes buffers of them to out.
func NewBuffered(out Output, cfg Config, errs *observ.Errors) Pipeline {
	shards := min(runtime.GOMAXPROCS(0), int(cfg.MaxBytes/(minBufferSize*buffersPerShard)))
	size := int(min(maxBufferSize, cfg.MaxBytes/int64(shards*buffersPerShard)))
	p := &buffered{
		out:     out,
		buffers: newBufferPool(cfg.Policy, size, int(cfg.MaxBytes/int64(size))),
		shards:  make([]shard, shards),
	}
	p.worker = newWorker(errs, cfg.ExportTimeout,
		func() uint64 { return p.written.Load() + p.failed.Load() + p.lost.Load() })
	for i := range p.shards {
		p.shards[i].enc = out.Format.NewEncoder(out.Mapping, min(encoding.DefaultCacheBytes, cfg.CacheBytes/shards))
	}
	p.local.New = func() any { return &p.shards[p.next.Add(1)%uint32(len(p.shards))] }
	go p.run(cfg.FlushInterval, nil, work{
		woken: p.writeAll,
		due: func(ctx context.Context) error {
			p.collect(false)
			if err := p.writeAll(ctx); err != nil {
				return err
			}
			ctx, cancel := p.attempt(ctx)
			defer cancel()
			return p.out.Sink.Settle(ctx) // the records that it holds back for the next batch
		},
		end: func(ctx context.Context) error {
			defer p.dropRest()
			p.collect(true)
			return p.writeAll(ctx)
		},
	})
	return p
}

func (p *buffered) OnEnd(e span.Ended) {
	sh := p.local.Get().(*shard)
	defer p.local.Put(sh)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p.add(sh, &e)
}

// OnEnds takes the lock once for many operations: taking it costs as much as encoding one line.
func (p *buffered) OnEnds(all iter.Seq[span.Ended]) {
	const perLock = 64 // about 20 µs
	sh := p.local.Get().(*shard)
	defer p.local.Put(sh)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := 0
	for e := range all {
		if n++; n%perLock == 0 {
			sh.mu.Unlock()
			sh.mu.Lock()
		}
		p.add(sh, &e)
	}
}

// add encodes e under the shard's lock. It releases the lock while it gets another buffer.
func (p *buffered) add(sh *shard, e *span.Ended) {
	if sh.buffer == nil && !sh.stopped {
		p.refill(sh)
	}
	if sh.stopped {
		p.reject(sh, e, "shutdown")
		return
	}
	if sh.buffer == nil {
		p.reject(sh, e, "queue_full")
		return
	}
	out, err := encoding.Add(sh.enc, sh.buffer, e, p.out.Traces)
	switch {
	case err != nil:
		sh.recorded++
		p.drop("conversion_failed", 1)
		p.errs.Report(err)
	case out == encoding.Entry:
		sh.recorded++
	default:
		sh.skipped++
	}
	if len(sh.buffer.Records) > p.buffers.size-bufferReserve {
		p.buffers.push(sh.buffer)
		sh.buffer = nil
		p.notify()
	}
}

// refill gets a buffer. It releases the shard's lock meanwhile because get may block.
func (p *buffered) refill(sh *shard) {
	sh.mu.Unlock()
	buffer, lost := p.buffers.get()
	p.drop("queue_full", uint64(lost))
	sh.mu.Lock()
	switch {
	case buffer == nil:
	case sh.buffer == nil && !sh.stopped:
		sh.buffer = buffer
	default: // another goroutine was faster
		p.buffers.put(buffer)
	}
}

// reject counts a span without room or after Stop. The caller holds the shard's lock.
func (p *buffered) reject(sh *shard, e *span.Ended, reason string) {
	if isOperation(p.out.Mapping, e) {
		sh.recorded++
		p.drop(reason, 1)
	} else {
		sh.skipped++
	}
}

func (p *buffered) drop(reason string, n uint64) {
	p.lost.Add(n)
	p.out.Sink.Drop(reason, n)
}

func (p *buffered) collect(stop bool) {
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		if sh.buffer != nil && !sh.buffer.Empty() {
			p.buffers.push(sh.buffer)
			sh.buffer = nil
		}
		sh.stopped = sh.stopped || stop
		sh.mu.Unlock()
	}
}

func (p *buffered) writeAll(ctx context.Context) error {
	var first error
	for ctx.Err() == nil {
		b := p.buffers.pop()
		if b == nil {
			return first
		}
		taken, err := p.write(ctx, b)
		if first == nil {
			first = err
		}
		if !taken {
			return first
		}
	}
	if first == nil {
		first = fmt.Errorf("optrace: writing operations: %w", ctx.Err())
	}
	return first
}

// write hands b to the sink, or back to the waiting buffers if the sink stays busy.
func (p *buffered) write(ctx context.Context, b *encoding.Batch) (taken bool, err error) {
	ctx, cancel := p.attempt(ctx)
	defer cancel()
	if err := p.out.Sink.Acquire(ctx); err != nil {
		p.buffers.pushFront(b)
		return false, err
	}
	n := uint64(b.Entries)
	p.exported.Add(n)
	return true, p.out.Sink.Submit(ctx, b, func(b *encoding.Batch) {
		p.written.Add(uint64(b.Written))
		p.failed.Add(n - uint64(b.Written))
		p.buffers.put(b)
	})
}

func (p *buffered) dropRest() {
	for b := p.buffers.pop(); b != nil; b = p.buffers.pop() {
		p.drop("shutdown", uint64(b.Entries))
	}
}

func (p *buffered) Stop(ctx context.Context) error {
	p.buffers.stop()
	// The goroutine's waits end with their contexts: it always ends.
	_, err := p.stop(ctx)
	p.ended.Store(true)
	return err
}

func (p *buffered) Stats() Stats {
	ended := p.ended.Load() // first: what was under way until then is counted below
	st := Stats{Written: p.written.Load(), Lost: p.lost.Load()}
	failed := p.failed.Load()
	st.Dropped = st.Lost + failed
	st.Exported = p.exported.Load() // last: it is never less than the others
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		st.Recorded += sh.recorded
		st.Skipped += sh.skipped
		sh.mu.Unlock()
	}
	if ended {
		// A write that outlived Stop counts as dropped.
		st.Dropped += st.Exported - st.Written - failed
	}
	return st
}

// bufferPool owns the buffers of a buffered pipeline and bounds their bytes, exceeded by at most one record per shard.
// A buffer grown by a large record counts once it is full. It is safe for concurrent use.
type bufferPool struct {
	policy Policy
	size   int

	mu      sync.Mutex
	space   sync.Cond         // a buffer became free, or the pipeline stops
	free    []*encoding.Batch // all of them of the size
	full    []*encoding.Batch // oldest first
	left    int64             // bytes that may still be taken; negative where buffers grew
	stopped bool
}

func newBufferPool(policy Policy, size, number int) *bufferPool {
	c := &bufferPool{policy: policy, size: size, left: int64(size) * int64(number)}
	c.space.L = &c.mu
	return c
}

// get returns an empty buffer and the number of entries dropped for it, or nil if there is none and no wait.
func (c *bufferPool) get() (b *encoding.Batch, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.left < 0 && len(c.free) > 0 { // others have grown
			c.takeFree()
			c.left += int64(c.size)
		}
		switch {
		case len(c.free) > 0:
			return c.takeFree(), lost
		case c.left >= int64(c.size):
			c.left -= int64(c.size)
			return encoding.NewBatch(c.size), lost
		case c.stopped:
			return nil, lost
		case c.policy == DropOldest && len(c.full) > 0:
			lost += c.full[0].Entries
			c.release(c.full[0])
			c.full[0] = nil
			c.full = c.full[1:]
		case c.policy == Block:
			c.space.Wait()
		default:
			return nil, lost
		}
	}
}

func (c *bufferPool) takeFree() *encoding.Batch {
	last := len(c.free) - 1
	b := c.free[last]
	c.free[last] = nil
	c.free = c.free[:last]
	return b
}

func (c *bufferPool) put(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(b)
	c.space.Signal()
}

func (c *bufferPool) release(b *encoding.Batch) {
	if grown := b.Memory() - c.size; grown > 0 {
		// Do not keep a grown buffer.
		c.left += int64(grown)
		b = encoding.NewBatch(c.size)
		c.space.Broadcast() // there may be room for several
	}
	b.Reset()
	c.free = append(c.free, b)
}

func (c *bufferPool) push(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= int64(b.Memory() - c.size)
	c.full = append(c.full, b)
}

func (c *bufferPool) pop() *encoding.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.full) == 0 {
		return nil
	}
	b := c.full[0]
	c.full[0] = nil
	c.full = c.full[1:]
	return b
}

func (c *bufferPool) pushFront(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = slices.Insert(c.full, 0, b)
}

func (c *bufferPool) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.space.Broadcast()
}
