package optrace

import (
	"context"
	"iter"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// flightPipeline keeps the last operations in memory, encoded, and writes them
// through an Exporter when something calls for it: a flight recorder.
type flightPipeline struct {
	exp     *Exporter
	format  entriesFormat
	timeout time.Duration
	onError bool
	slow    time.Duration // local roots that take as long call for a dump; 0: none do

	mu        sync.Mutex
	enc       encoder
	scratch   batch // holds one record at a time
	entries   ring
	ancestors ring
	sequence  uint64 // orders the records of both rings
	recorded  uint64
	skipped   uint64
	written   uint64
	dropped   uint64
	stopped   bool

	dumps   chan struct{} // asks for a dump; holds one request
	signals chan os.Signal
	flushes chan flushRequest
	stopReq chan flushRequest
	done    chan struct{}
	errs    *errorReporter
	ctx     context.Context
	cancel  context.CancelFunc
}

// ring holds the last records of one kind. The bytes of a record that falls out
// are used again.
type ring struct {
	records []ringRecord
	next    int
	full    bool
}

type ringRecord struct {
	sequence uint64
	of       batch // of one record, which is in text
	text     []byte
}

func newRing(n int) ring { return ring{records: make([]ringRecord, n)} }

// put stores a copy of b and reports whether another record fell out.
func (r *ring) put(sequence uint64, b *batch) (lost bool) {
	slot := &r.records[r.next]
	lost = r.full
	slot.text = append(slot.text[:0], b.body()...)
	slot.sequence, slot.of = sequence, *b
	slot.of.records = nil
	if r.next++; r.next == len(r.records) {
		r.next, r.full = 0, true
	}
	return lost
}

// all returns the records, oldest first.
func (r *ring) all() []ringRecord {
	if !r.full {
		return r.records[:r.next]
	}
	return append(append([]ringRecord(nil), r.records[r.next:]...), r.records[:r.next]...)
}

func (r *ring) clear() { r.next, r.full = 0, false }

// ancestorShare: the ring of ancestry records is this much smaller than that of
// entries.
const ancestorShare = 4

func newFlightPipeline(e *Exporter, cfg processorConfig, errs *errorReporter) *flightPipeline {
	p := &flightPipeline{
		exp: e, timeout: cfg.exportTimeout, onError: cfg.dumpOnError, slow: cfg.dumpOnSlow,
		scratch:   *newBatch(0),
		enc:       entriesFormat{}.newEncoder(e.cfg.mapping, maxMemoBytes),
		entries:   newRing(cfg.flightEntries),
		ancestors: newRing(cfg.flightEntries/ancestorShare + 1),
		dumps:     make(chan struct{}, 1),
		signals:   make(chan os.Signal, 1),
		flushes:   make(chan flushRequest),
		stopReq:   make(chan flushRequest, 1),
		done:      make(chan struct{}),
		errs:      errs,
	}
	if len(cfg.dumpSignals) > 0 {
		signal.Notify(p.signals, cfg.dumpSignals...)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.run()
	return p
}

func (p *flightPipeline) takingViews() viewPipeline { return p }

func (p *flightPipeline) onEnd(f finished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.scratch.reset()
	out, err := addSafe(p.enc, &p.scratch, &f, &p.exp.traces)
	p.sequence++
	switch {
	case err != nil:
		p.recorded++
		p.dropped++
		p.errs.report(err)
	case out == asEntry:
		p.recorded++
		if p.entries.put(p.sequence, &p.scratch) {
			p.dropped++
			p.exp.recorded.Add(1)
			p.exp.sink.drop("flight_recorder", 1)
		}
	default:
		p.skipped++
		if out == asAncestor {
			p.ancestors.put(p.sequence, &p.scratch)
		}
	}
	if p.calls(f, out) {
		p.request()
	}
}

func (p *flightPipeline) onViews(all iter.Seq[finished]) {
	for f := range all {
		p.onEnd(f)
	}
}

// calls reports whether what ended calls for a dump.
func (p *flightPipeline) calls(f finished, out outcome) bool {
	if f.view != nil {
		return p.onError && f.view.failed()
	}
	if p.onError && out == asEntry && f.span.Status().Code == codes.Error {
		return true
	}
	return p.slow > 0 && isLocalRoot(f.span) && duration(f.span) >= p.slow
}

func duration(s sdktrace.ReadOnlySpan) time.Duration { return s.EndTime().Sub(s.StartTime()) }

// request asks for a dump; one that has been asked for and not begun serves.
func (p *flightPipeline) request() {
	select {
	case p.dumps <- struct{}{}:
	default:
	}
}

func (p *flightPipeline) run() {
	defer close(p.done)
	defer signal.Stop(p.signals)
	for {
		select {
		case <-p.dumps:
			p.errs.report(p.dump(p.ctx))
		case <-p.signals:
			p.errs.report(p.dump(p.ctx))
		case req := <-p.flushes:
			req.done <- p.dump(req.ctx)
		case req := <-p.stopReq:
			var err error
			select {
			case <-p.dumps: // asked for before the end
				err = p.dump(req.ctx)
			default:
			}
			p.dropRest()
			req.done <- err
			return
		}
	}
}

// dump writes what the rings hold and empties them.
func (p *flightPipeline) dump(ctx context.Context) error {
	b := p.collect()
	if b.empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	n := uint64(b.entries)
	p.exp.recorded.Add(n)
	if err := p.exp.sink.acquire(ctx); err != nil {
		p.account(0, n)
		p.exp.sink.drop("timeout", n)
		return err
	}
	return p.exp.sink.submit(ctx, b, func(b *batch) { p.account(uint64(b.written), n-uint64(b.written)) })
}

func (p *flightPipeline) account(written, dropped uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written += written
	p.dropped += dropped
}

// collect moves the records of both rings, in order, into one batch.
func (p *flightPipeline) collect() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := newBatch(0)
	entries, ancestors := p.entries.all(), p.ancestors.all()
	for len(entries) > 0 || len(ancestors) > 0 {
		from := &entries
		if len(entries) == 0 || len(ancestors) > 0 && ancestors[0].sequence < entries[0].sequence {
			from = &ancestors
		}
		p.format.join(b, &(*from)[0].of, (*from)[0].text)
		*from = (*from)[1:]
	}
	p.entries.clear()
	p.ancestors.clear()
	return b
}

// dropRest accounts for the operations that nothing called for.
func (p *flightPipeline) dropRest() {
	n := uint64(p.collect().entries)
	p.account(0, n)
	p.exp.recorded.Add(n)
	p.exp.sink.drop("flight_recorder", n)
}

func (p *flightPipeline) flush(context.Context) error { return nil } // it keeps what it has, by design

func (p *flightPipeline) stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	_, err := requestStop(ctx, p.stopReq, p.done, p.cancel)
	return err
}

func (p *flightPipeline) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Recorded: p.recorded, Written: p.written, Dropped: p.dropped, Skipped: p.skipped}
}
