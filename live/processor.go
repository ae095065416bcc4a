package live

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/bits"
	"net/http"
	"runtime"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/serve/livepage"
)

// Processor profiles the operations among the spans that end. It is an
// sdktrace.SpanProcessor, and safe for concurrent use.
type Processor struct {
	seed    maphash.Seed
	shards  []*shard // the length is a power of two
	withOps traces.WithOps
	metrics *metrics // nil for none
	stopped atomic.Bool
	dropped atomic.Uint64 // operations that a panic took

	page   livepage.Page
	writer *livepage.Writer // for fill
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a Processor. It is registered with a TracerProvider by
// sdktrace.WithSpanProcessor.
func NewProcessor(opts ...Option) (*Processor, error) {
	cfg, err := newConfig(opts)
	p := &Processor{seed: maphash.MakeSeed()}
	if err == nil && cfg.meters != nil {
		p.metrics, err = newMetrics(cfg.meters, &p.dropped)
	}
	if err != nil {
		return nil, fmt.Errorf("live: new processor: %w", err)
	}
	// A few for each processor, so that hardly any is taken when a span ends.
	n := min(maxShards, 1<<bits.Len(uint(2*runtime.GOMAXPROCS(0)-1)))
	for range n {
		p.shards = append(p.shards, newShard(cfg, n, p.metrics))
	}
	window := livepage.NewWindow(livepage.Limits{Records: cfg.records, Age: cfg.age})
	p.writer = window.Input("").Writer()
	p.page = livepage.Page{Window: window, Title: "operations of this program", Fill: p.fill, Since: p.Report}
	return p, nil
}

// The bounds of all shards together.
const (
	maxShards     = 64
	maxCacheBytes = 32 << 20 // of attributes that repeat
	maxNameBytes  = 8 << 20
	// maxRows is how many operations and how many devices have a row in the report. Shards that take each other's
	// operations have rows for the same ones, rowShare times as many.
	maxRows  = 10_000
	rowShare = 4
)

// OnStart does nothing.
func (p *Processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a finished span. An operation is profiled whether it is sampled or only
// recorded.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.stopped.Load() {
		return
	}
	defer func() {
		if recover() != nil { // an attribute's own code may panic
			p.dropped.Add(1)
		}
	}()
	d := span.Read(s, s.SpanContext(), s.Parent())
	// Operations of a name keep to a shard, which knows their attributes, unless it is taken.
	sh := p.lock(uint32(maphash.String(p.seed, d.Name)))
	of, duration := sh.end(&d, &p.withOps)
	if p.metrics != nil && of != nil {
		p.metrics.record(&d, of, duration)
	}
}

// lock returns a locked shard, one that nobody else has if there is one near n. The
// shard's end unlocks it.
func (p *Processor) lock(n uint32) *shard {
	mask := uint32(len(p.shards) - 1)
	for i := range uint32(4) {
		if sh := p.shards[(n+i)&mask]; sh.mu.TryLock() {
			return sh
		}
	}
	sh := p.shards[n&mask]
	sh.mu.Lock()
	return sh
}

// Report returns the sums of all operations since the Processor was made: what needs the
// structure of the run, such as self times, is in the page's report only.
func (p *Processor) Report() *analyze.Report {
	sum := profile.New(profile.Options{RecordedFLOPs: true, MaxGroups: maxRows})
	for _, sh := range p.shards {
		sh.mu.Lock()
		sum.Merge(sh.profile)
		sh.mu.Unlock()
	}
	return analyze.ReportOn(sum)
}

// Dropped returns how many operations are not in the report, because their spans could not
// be read.
func (p *Processor) Dropped() uint64 { return p.dropped.Load() }

// ForceFlush does nothing: what has ended is in the report.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Shutdown makes the Processor ignore spans that end from now on. Its handler still answers.
func (p *Processor) Shutdown(context.Context) error {
	if p.stopped.Swap(true) || p.metrics == nil {
		return nil
	}
	return p.metrics.registration.Unregister()
}

// Handler returns the handler of the page, for any path that ends in a slash, such as
// /debug/optrace/, and those below it:
//
//   - the page itself; with ?format=json the report on the latest operations, with
//     ?format=text the same to read (&section=all has every section), with
//     ?format=collapsed their stacks, with ?format=pprof a profile of them that go tool
//     pprof opens by its URL;
//   - with ?format=json&since=start the report on all operations since the start, see
//     [Processor.Report];
//   - data and trace.json below it, which the page asks for.
func (p *Processor) Handler() http.Handler { return &p.page }

// fill moves the records from the shards to the window.
func (p *Processor) fill() {
	for _, sh := range p.shards {
		sh.drain(p.writer, p.page.Window)
	}
	p.writer.Flush()
}
