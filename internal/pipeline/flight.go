package pipeline

import (
	"context"
	"iter"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/observ"
	"github.com/optrace/optrace/internal/span"
)

// Flight keeps the last operations in memory, encoded, and writes them to a sink
// when a dump is requested: a flight recorder.
type Flight struct {
	out    Output
	format encoding.Joiner
	cfg    FlightConfig

	mu        sync.Mutex
	enc       encoding.Encoder
	scratch   *encoding.Batch // holds one record at a time
	entries   ring
	ancestors ring
	sequence  uint64 // orders the records of both rings
	recorded  uint64
	skipped   uint64
	written   uint64
	dropped   uint64
	stopped   bool

	dumps   chan struct{} // requests for a dump; holds one
	signals chan os.Signal
	flushes chan flushRequest
	stopReq chan flushRequest
	done    chan struct{}
	errs    *observ.Errors
	ctx     context.Context
	cancel  context.CancelFunc
}

// FlightConfig configures a Flight.
type FlightConfig struct {
	Entries       int           // how many operations are kept
	OnError       bool          // operations that fail request a dump
	OnSlow        time.Duration // local roots that take as long request a dump; 0: none do
	Signals       []os.Signal   // these request a dump
	ExportTimeout time.Duration
	CacheBytes    int
}

// ancestorShare: the ring of ancestry records is this much smaller than that of
// entries.
const ancestorShare = 4

// NewFlight returns a flight recorder in front of out, whose format is format.
func NewFlight(out Output, format encoding.Joiner, cfg FlightConfig, errs *observ.Errors) *Flight {
	p := &Flight{
		out: out, format: format, cfg: cfg,
		scratch:   encoding.NewBatch(0),
		enc:       format.NewEncoder(out.Mapping, min(encoding.DefaultCacheBytes, cfg.CacheBytes)),
		entries:   newRing(cfg.Entries),
		ancestors: newRing(cfg.Entries/ancestorShare + 1),
		dumps:     make(chan struct{}, 1),
		signals:   make(chan os.Signal, 1),
		flushes:   make(chan flushRequest),
		stopReq:   make(chan flushRequest, 1),
		done:      make(chan struct{}),
		errs:      errs,
	}
	if len(cfg.Signals) > 0 {
		signal.Notify(p.signals, cfg.Signals...)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.run()
	return p
}

// OnEnd implements [Pipeline].
func (p *Flight) OnEnd(e span.Ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.scratch.Reset()
	out, err := encoding.Add(p.enc, p.scratch, &e, p.out.Traces)
	p.sequence++
	switch {
	case err != nil:
		p.recorded++
		p.dropped++
		p.errs.Report(err)
	case out == encoding.Entry:
		p.recorded++
		if p.entries.put(p.sequence, p.scratch) {
			p.dropped++
			p.out.Sink.Drop("flight_recorder", 1)
		}
	default:
		p.skipped++
		if out == encoding.Ancestor {
			p.ancestors.put(p.sequence, p.scratch)
		}
	}
	if p.triggers(&e, out) {
		p.request()
	}
}

// OnEnds implements [Pipeline].
func (p *Flight) OnEnds(all iter.Seq[span.Ended]) {
	for e := range all {
		p.OnEnd(e)
	}
}

// triggers reports whether e requests a dump.
func (p *Flight) triggers(e *span.Ended, out encoding.Outcome) bool {
	if e.Data != nil {
		return p.cfg.OnError && e.Data.Failed()
	}
	if p.cfg.OnError && out == encoding.Entry && e.Span.Status().Code == codes.Error {
		return true
	}
	return p.cfg.OnSlow > 0 && span.IsLocalRoot(e.Parent) && span.Duration(e.Span) >= p.cfg.OnSlow
}

// request requests a dump, unless one has been requested and not started.
func (p *Flight) request() {
	select {
	case p.dumps <- struct{}{}:
	default:
	}
}

// Dump writes the operations that are kept, and returns when they have been
// written or ctx is done.
func (p *Flight) Dump(ctx context.Context) error { return requestFlush(ctx, p.flushes, p.done) }

func (p *Flight) run() {
	defer close(p.done)
	defer signal.Stop(p.signals)
	for {
		select {
		case <-p.dumps:
			p.errs.Report(p.dump(p.ctx))
		case <-p.signals:
			p.errs.Report(p.dump(p.ctx))
		case req := <-p.flushes:
			req.done <- p.dump(req.ctx)
		case req := <-p.stopReq:
			var err error
			select {
			case <-p.dumps: // requested before the end
				err = p.dump(req.ctx)
			default:
			}
			p.dropRest()
			req.done <- err
			return
		}
	}
}

// dump writes the records of the rings and empties them.
func (p *Flight) dump(ctx context.Context) error {
	b := p.collect()
	if b.Empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ExportTimeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	n := uint64(b.Entries)
	if err := p.out.Sink.Acquire(ctx); err != nil {
		p.account(0, n)
		p.out.Sink.Drop("timeout", n)
		return err
	}
	return p.out.Sink.Submit(ctx, b, func(b *encoding.Batch) { p.account(uint64(b.Written), n-uint64(b.Written)) })
}

func (p *Flight) account(written, dropped uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written += written
	p.dropped += dropped
}

// collect moves the records of both rings, in order, into one batch.
func (p *Flight) collect() *encoding.Batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := encoding.NewBatch(0)
	entries, ancestors := p.entries.all(), p.ancestors.all()
	for len(entries) > 0 || len(ancestors) > 0 {
		from := &entries
		if len(entries) == 0 || len(ancestors) > 0 && ancestors[0].sequence < entries[0].sequence {
			from = &ancestors
		}
		p.format.Join(b, &(*from)[0].record)
		*from = (*from)[1:]
	}
	p.entries.clear()
	p.ancestors.clear()
	return b
}

// dropRest accounts for the operations that no dump was requested for.
func (p *Flight) dropRest() {
	n := uint64(p.collect().Entries)
	p.account(0, n)
	p.out.Sink.Drop("flight_recorder", n)
}

// Flush does nothing: only Dump writes.
func (p *Flight) Flush(context.Context) error { return nil }

// Stop implements [Pipeline].
func (p *Flight) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	progress := func() uint64 { st := p.Stats(); return st.Written + st.Dropped }
	_, err := requestStop(ctx, patience{p.cfg.ExportTimeout, progress}, p.stopReq, p.done, p.cancel)
	return err
}

// Stats implements [Pipeline].
func (p *Flight) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Recorded: p.recorded, Written: p.written, Dropped: p.dropped, Skipped: p.skipped}
}
