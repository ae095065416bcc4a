package pipeline

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
)

// Flight is a flight recorder: it keeps the last operations, encoded, and writes them on request.
type Flight struct {
	worker // woken for a dump
	out    Output
	format encoding.Joiner
	cfg    Config

	mu                 sync.Mutex
	enc                encoding.Encoder
	scratch            *encoding.Batch // holds one record at a time
	entries, ancestors history
	sequence           uint64 // orders the records of both
	counts             Stats
	stopped            bool
	ended              bool // spans being written count as dropped

	signals chan os.Signal
}

const (
	ancestorShare = 4        // the ratio of entries to ancestry records
	maxPart       = 64 << 10 // the size of the parts of a history, smaller where the bound is low
	minParts      = 16
	dumpBytes     = 1 << 20  // the largest write of a dump
	scratchKept   = 64 << 10 // the largest memory kept for one record
)

// NewFlight returns a flight recorder in front of out, which has the given format.
func NewFlight(out Output, format encoding.Joiner, cfg Config, errs *observ.Errors) *Flight {
	part := int(min(maxPart, cfg.MaxBytes/minParts))
	p := &Flight{
		out: out, format: format, cfg: cfg, scratch: encoding.NewBatch(0),
		enc:     format.NewEncoder(out.Mapping, min(encoding.DefaultCacheBytes, cfg.CacheBytes)),
		entries: history{partSize: part}, ancestors: history{partSize: part}, signals: make(chan os.Signal, 1),
	}
	p.worker = newWorker(errs, cfg.ExportTimeout, func() uint64 { st := p.Stats(); return st.Written + st.Dropped })
	if len(cfg.Signals) > 0 {
		signal.Notify(p.signals, cfg.Signals...)
	}
	go p.run(0, p.signals, work{woken: p.dump, due: p.dump, end: p.end})
	return p
}

// OnEnd implements [Pipeline].
func (p *Flight) OnEnd(e span.Ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		if isOperation(p.out.Mapping, &e) {
			p.counts.Recorded++
			p.drop(1)
		} else {
			p.counts.Skipped++
		}
		return
	}
	out, err := p.add(&e)
	switch {
	case err != nil:
		p.counts.Recorded++
		p.counts.Dropped++
		p.counts.Lost++
		p.errs.Report(err)
	case out == encoding.Entry:
		p.counts.Recorded++
		p.keep(&p.entries, p.cfg.Entries)
	default:
		p.counts.Skipped++
		if out == encoding.Ancestor {
			p.keep(&p.ancestors, p.cfg.Entries/ancestorShare+1)
		}
	}
	for late, ok := p.scratch.Late(p.out.Traces); ok; late, ok = p.scratch.Late(p.out.Traces) {
		if out, err := p.add(&late); err != nil {
			p.out.Traces.LoseParent()
		} else if out == encoding.Ancestor {
			p.keep(&p.ancestors, p.cfg.Entries/ancestorShare+1)
		}
	}
	if p.scratch.Memory() > scratchKept {
		p.scratch = encoding.NewBatch(0)
	}
	if p.triggers(&e, out) {
		p.notify()
	}
}

func (p *Flight) add(e *span.Ended) (encoding.Outcome, error) {
	p.scratch.Reset()
	p.sequence++
	return encoding.AddOne(p.enc, p.scratch, e, p.out.Traces)
}

func (p *Flight) keep(h *history, most int) {
	lost := 0
	for h.records >= most {
		lost += h.pop().Entries
	}
	for int64(p.entries.bytes+p.ancestors.bytes+h.need(p.scratch.Body())) > p.cfg.MaxBytes {
		oldest := older(&p.entries, &p.ancestors)
		if oldest == nil { // too large by itself
			p.drop(lost + p.scratch.Entries)
			return
		}
		lost += oldest.pop().Entries
	}
	h.put(p.sequence, p.scratch)
	p.drop(lost)
}

func older(a, b *history) *history {
	switch {
	case a.records == 0 && b.records == 0:
		return nil
	case a.records == 0 || b.records > 0 && b.oldest() < a.oldest():
		return b
	}
	return a
}

// drop counts n operations as dropped. The caller holds the lock.
func (p *Flight) drop(n int) {
	p.counts.Dropped += uint64(n)
	p.counts.Lost += uint64(n)
	p.out.Sink.Drop("flight_recorder", uint64(n))
}

func (p *Flight) triggers(e *span.Ended, out encoding.Outcome) bool {
	if e.Data != nil {
		return p.cfg.OnError && e.Data.Failed()
	}
	if p.cfg.OnError && out == encoding.Entry && e.Span.Status().Code == codes.Error {
		return true
	}
	return p.cfg.OnSlow > 0 && span.IsLocalRoot(e.Parent) && e.Span.EndTime().Sub(e.Span.StartTime()) >= p.cfg.OnSlow
}

// Dump writes the kept operations, until ctx is done.
func (p *Flight) Dump(ctx context.Context) error { return p.worker.Flush(ctx) }

func (p *Flight) end(ctx context.Context) (err error) {
	signal.Stop(p.signals)
	select {
	case <-p.wake:
		err = p.dump(ctx)
	default:
	}
	p.dropRest()
	return err
}

// WriteTo writes the kept operations to w, as Dump does to the sink. It returns the number of bytes written.
func (p *Flight) WriteTo(w io.Writer) (n int64, err error) {
	counted := &counter{Writer: w}
	to, err := sink.New(sink.ToWriter(counted), p.format, sink.None, nil)
	if err != nil {
		return 0, err
	}
	err = p.dumpTo(p.ctx, to)
	err = errors.Join(err, to.Shutdown(p.ctx))
	return counted.n.Load(), err
}

type counter struct {
	io.Writer
	n atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func (p *Flight) dump(ctx context.Context) error { return p.dumpTo(ctx, p.out.Sink) }

func (p *Flight) dumpTo(ctx context.Context, to *sink.Sink) error {
	p.mu.Lock()
	entries := p.entries.take()
	ancestors := p.ancestors.take()
	p.mu.Unlock()
	ctx, cancel := p.attempt(ctx)
	defer cancel()
	var first error
	for b := p.join(&entries, &ancestors); !b.Empty(); b = p.join(&entries, &ancestors) {
		err := first
		if ctx.Err() == nil || err == nil { // after a failure, go on only while there is time
			err = to.Acquire(ctx)
		}
		n := uint64(b.Entries)
		if err != nil {
			p.account(Stats{Dropped: n, Lost: n})
			to.Drop("timeout", n)
		} else {
			p.account(Stats{Exported: n})
			err = to.Submit(ctx, b, func(b *encoding.Batch) {
				p.account(Stats{Written: uint64(b.Written), Dropped: n - uint64(b.Written)})
			})
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (p *Flight) join(entries, ancestors *history) *encoding.Batch {
	b := encoding.NewBatch(min(dumpBytes, entries.bytes+ancestors.bytes))
	for len(b.Records) < dumpBytes {
		from := older(entries, ancestors)
		if from == nil {
			break
		}
		r := from.pop()
		p.format.Join(b, &r)
	}
	return b
}

func (p *Flight) account(more Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Exported += more.Exported
	p.counts.Written += more.Written
	p.counts.Dropped += more.Dropped
	p.counts.Lost += more.Lost
}

func (p *Flight) dropRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(p.entries.records)
	p.entries = history{}
	p.ancestors = history{}
}

// Flush does nothing: only Dump writes.
func (p *Flight) Flush(context.Context) error { return nil }

// Stop implements [Pipeline].
func (p *Flight) Stop(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	_, err := p.stop(ctx)
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	return err
}

// Stats implements [Pipeline].
func (p *Flight) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.counts
	if p.ended {
		st.Dropped = st.Recorded - st.Written
		st.Lost = st.Recorded - st.Exported
	}
	return st
}

type history struct {
	partSize int
	parts    []*part // oldest first
	records  int
	bytes    int   // of the parts
	spare    *part // empty; a full history then does not allocate
}

type part struct {
	text    []byte
	records []recordAt
	first   int // index of the oldest record left
}

type recordAt struct {
	sequence uint64
	end      int // in the part's text; the start is the end before
	entries  int
	source   attribute.Distinct
	resource *op.Resource
}

func (p *part) size() int {
	return int(unsafe.Sizeof(*p)) + cap(p.text) + cap(p.records)*int(unsafe.Sizeof(recordAt{}))
}

const perRecord = 256 // about the bytes of a record; sets the number of recordAts of a part

func (h *history) need(text []byte) int {
	if h.fits(text) {
		return 0
	}
	size := max(h.partSize, len(text))
	return size + size/perRecord*int(unsafe.Sizeof(recordAt{}))
}

func (h *history) fits(text []byte) bool {
	if len(h.parts) == 0 {
		return false
	}
	p := h.parts[len(h.parts)-1]
	return cap(p.text)-len(p.text) >= len(text) && len(p.records) < cap(p.records)
}

func (h *history) put(sequence uint64, b *encoding.Batch) {
	text := b.Body()
	if !h.fits(text) {
		h.grow(len(text))
	}
	p := h.parts[len(h.parts)-1]
	p.text = append(p.text, text...)
	p.records = append(p.records, recordAt{sequence, len(p.text), b.Entries, b.First, b.FirstResource})
	h.records++
}

func (h *history) grow(record int) {
	p := h.spare
	h.spare = nil
	if size := max(h.partSize, record); p == nil || cap(p.text) < size {
		p = &part{text: make([]byte, 0, size), records: make([]recordAt, 0, max(1, size/perRecord))}
	}
	h.parts = append(h.parts, p)
	h.bytes += p.size()
}

// oldest returns the sequence number of the oldest record of a history that is not empty.
func (h *history) oldest() uint64 {
	p := h.parts[0]
	return p.records[p.first].sequence
}

// pop removes the oldest record of a history that is not empty. The result is valid until the next put.
func (h *history) pop() encoding.Record {
	p := h.parts[0]
	at := &p.records[p.first]
	start := 0
	if p.first > 0 {
		start = p.records[p.first-1].end
	}
	r := encoding.Record{Bytes: p.text[start:at.end], Entries: at.entries, Source: at.source, Resource: at.resource}
	h.records--
	if p.first++; p.first == len(p.records) {
		h.release()
	}
	return r
}

func (h *history) release() {
	p := h.parts[0]
	h.bytes -= p.size()
	h.parts[0] = nil
	h.parts = h.parts[1:]
	if h.spare == nil && cap(p.text) == h.partSize {
		clear(p.records) // they refer to resources
		p.text = p.text[:0]
		p.records = p.records[:0]
		p.first = 0
		h.spare = p
	}
}

func (h *history) take() history {
	taken := *h
	taken.spare = nil
	*h = history{partSize: h.partSize, spare: h.spare}
	return taken
}
