package optrace

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// encodingPipeline encodes spans while they end and writes the encoded batches
// through an Exporter's sink.
type encodingPipeline struct {
	exp     *Exporter
	timeout time.Duration
	chunks  *chunks
	shards  []encodingShard
	// local hands a goroutine the shard that its processor used last, so that
	// goroutines running at the same time seldom meet at one shard. It is a
	// hint only: each shard has its lock.
	local sync.Pool
	next  atomic.Uint32

	wake    chan struct{}
	flushes chan flushRequest
	stopReq chan flushRequest
	done    chan struct{}

	written, dropped, inFlight atomic.Uint64
	errs                       *errorReporter

	// ctx ends when there is no time left to stop in order; every wait of the
	// writing goroutine ends with it.
	ctx    context.Context
	cancel context.CancelFunc
}

type encodingShard struct {
	mu       sync.Mutex
	enc      encoder
	chunk    *batch // nil until there is something to encode
	stopped  bool
	recorded uint64
	skipped  uint64
	_        [64]byte // keeps shards on cache lines of their own
}

// The sizes of an encoding pipeline. A chunk is what one Write call gets, with
// a few hundred bytes in front; all chunks together are WithMaxBytes.
const (
	maxChunkSize   = 128 << 10
	minChunkSize   = 4 << 10
	minMaxBytes    = 64 << 10
	chunksPerShard = 4
	// chunkReserve is what must be left in a chunk for it to take another
	// record: nearly all are smaller, and a larger one makes the chunk grow.
	chunkReserve = 2 << 10
	// maxMemosBytes is what all shards together remember of spans that are alike.
	maxMemosBytes = 64 << 20
)

func newEncodingPipeline(e *Exporter, cfg processorConfig, errs *errorReporter) *encodingPipeline {
	shards := min(runtime.GOMAXPROCS(0), int(cfg.maxBytes/(minChunkSize*chunksPerShard)))
	size := int(min(maxChunkSize, cfg.maxBytes/int64(shards*chunksPerShard)))
	p := &encodingPipeline{
		exp:     e,
		timeout: cfg.exportTimeout,
		chunks:  newChunks(cfg.policy, size, int(cfg.maxBytes/int64(size))),
		shards:  make([]encodingShard, shards),
		wake:    make(chan struct{}, 1),
		flushes: make(chan flushRequest),
		stopReq: make(chan flushRequest, 1),
		done:    make(chan struct{}),
		errs:    errs,
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	memoBytes := min(maxMemoBytes, maxMemosBytes/shards)
	for i := range p.shards {
		p.shards[i].enc = e.sink.format.newEncoder(e.cfg.mapping, memoBytes)
	}
	p.local.New = func() any { return &p.shards[p.next.Add(1)%uint32(len(p.shards))] }
	go p.run(cfg.flushInterval)
	return p
}

func (p *encodingPipeline) takingViews() viewPipeline {
	if !p.shards[0].enc.takesViews() {
		return nil
	}
	return p
}

func (p *encodingPipeline) onEnd(f finished) {
	sh := p.local.Get().(*encodingShard)
	defer p.local.Put(sh)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p.add(sh, &f)
}

// onViews takes the lock for many at a time, which for one of them costs as much
// as filling its line in.
func (p *encodingPipeline) onViews(all iter.Seq[finished]) {
	const perLock = 64 // 20 µs or so
	sh := p.local.Get().(*encodingShard)
	defer p.local.Put(sh)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := 0
	for f := range all {
		if n++; n%perLock == 0 {
			sh.mu.Unlock()
			sh.mu.Lock()
		}
		p.add(sh, &f)
	}
}

// add encodes f. The caller holds the shard's lock, which is free for a while
// where the shard needs another chunk.
func (p *encodingPipeline) add(sh *encodingShard, f *finished) {
	if sh.chunk == nil && !sh.stopped {
		p.refill(sh)
	}
	if sh.stopped {
		return
	}
	if sh.chunk == nil {
		p.lose(sh, f)
		return
	}
	out, err := addSafe(sh.enc, sh.chunk, f, &p.exp.traces)
	switch {
	case err != nil:
		sh.recorded++
		p.drop("conversion_failed", 1)
		p.errs.report(err)
	case out == asEntry:
		sh.recorded++
	default:
		sh.skipped++
	}
	// Not by its capacity, which a record that did not fit has raised.
	if len(sh.chunk.records) > p.chunks.size-chunkReserve {
		p.chunks.push(sh.chunk)
		sh.chunk = nil
		p.notify()
	}
}

// refill gets a chunk, not under the shard's lock: that may block.
func (p *encodingPipeline) refill(sh *encodingShard) {
	sh.mu.Unlock()
	chunk, lost := p.chunks.get()
	p.drop("queue_full", uint64(lost))
	sh.mu.Lock()
	switch {
	case chunk == nil:
	case sh.chunk == nil && !sh.stopped:
		sh.chunk = chunk
	default: // another goroutine was faster
		p.chunks.put(chunk)
	}
}

// lose accounts for something for which there is no room. The caller holds the
// shard's lock.
func (p *encodingPipeline) lose(sh *encodingShard, f *finished) {
	if f.view != nil || isOperationSafe(sh.enc, f.span) {
		sh.recorded++
		p.drop("queue_full", 1)
	} else {
		sh.skipped++
	}
}

func (p *encodingPipeline) drop(reason string, n uint64) {
	p.exp.recorded.Add(n)
	p.dropped.Add(n)
	p.exp.sink.drop(reason, n)
}

// notify tells the writing goroutine that there is a full chunk.
func (p *encodingPipeline) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run writes chunks out: full ones at once, the others when they are due or
// when somebody asks.
func (p *encodingPipeline) run(interval time.Duration) {
	defer close(p.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.wake:
			p.errs.report(p.writeAll(p.ctx))
		case <-ticker.C:
			p.collect(false)
			p.errs.report(p.writeAll(p.ctx))
		case req := <-p.flushes:
			p.collect(false)
			req.done <- p.writeAll(req.ctx)
		case req := <-p.stopReq:
			p.collect(true)
			err := p.writeAll(req.ctx)
			p.dropRest()
			req.done <- err
			return
		}
	}
}

// collect takes the chunks of all shards.
func (p *encodingPipeline) collect(stop bool) {
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		if sh.chunk != nil && !sh.chunk.empty() {
			p.chunks.push(sh.chunk)
			sh.chunk = nil
		}
		sh.stopped = sh.stopped || stop
		sh.mu.Unlock()
	}
}

// writeAll writes the chunks that are waiting, until ctx is done or the sink
// does not become free.
func (p *encodingPipeline) writeAll(ctx context.Context) error {
	var first error
	for ctx.Err() == nil {
		b := p.chunks.pop()
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
		first = ctx.Err()
	}
	return first
}

// write hands b to the sink. Where an earlier write has not returned in time, b
// goes back to those that wait, for which there may be room still.
func (p *encodingPipeline) write(ctx context.Context, b *batch) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if err := p.exp.sink.acquire(ctx); err != nil {
		p.chunks.unpop(b)
		return false, err
	}
	n := uint64(b.entries)
	p.exp.recorded.Add(n)
	p.inFlight.Add(n)
	return true, p.exp.sink.submit(ctx, b, func(b *batch) {
		p.inFlight.Add(-n)
		p.written.Add(uint64(b.written))
		p.dropped.Add(n - uint64(b.written))
		p.chunks.put(b)
	})
}

// dropRest accounts for the chunks that there was no time to write.
func (p *encodingPipeline) dropRest() {
	for b := p.chunks.pop(); b != nil; b = p.chunks.pop() {
		p.drop("shutdown", uint64(b.entries))
	}
}

func (p *encodingPipeline) flush(ctx context.Context) error {
	return requestFlush(ctx, p.flushes, p.done)
}

func (p *encodingPipeline) stop(ctx context.Context) error {
	p.chunks.stop()
	// Its goroutine waits for nothing but contexts: it always ends.
	_, err := requestStop(ctx, p.stopReq, p.done, p.cancel)
	return err
}

func (p *encodingPipeline) stats() Stats {
	st := Stats{Written: p.written.Load(), Dropped: p.dropped.Load(), DeletedFiles: p.exp.Stats().DeletedFiles}
	stopped := true
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		st.Recorded += sh.recorded
		st.Skipped += sh.skipped
		stopped = stopped && sh.stopped
		sh.mu.Unlock()
	}
	if stopped {
		// A write that outlived Shutdown is as good as lost.
		st.Dropped += p.inFlight.Load()
	}
	return st
}
