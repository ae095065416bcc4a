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

// Processor profiles the operations among finished spans. It is an sdktrace.SpanProcessor, and safe for concurrent use.
type Processor struct {
	seed    maphash.Seed
	shards  []*shard // the length is a power of two
	withOps traces.WithOps
	metrics *metrics // may be nil
	stopped atomic.Bool
	dropped atomic.Uint64 // operations lost to a panic

	page   livepage.Page
	writer *livepage.Writer // for fill
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a Processor. Register it with a TracerProvider by sdktrace.WithSpanProcessor.
func NewProcessor(opts ...Option) (*Processor, error) {
	cfg, err := newConfig(opts)
	p := &Processor{seed: maphash.MakeSeed()}
	if err == nil && cfg.meters != nil {
		p.metrics, err = newMetrics(cfg.meters, &p.dropped)
	}
	if err != nil {
		return nil, fmt.Errorf("live: new processor: %w", err)
	}
	// A few shards for each processor, so that a span rarely waits for one.
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
	maxCacheBytes = 32 << 20 // of repeated attributes
	maxNameBytes  = 8 << 20
	// maxRows bounds the rows of operations, and of devices, in the report. Shards that take each other's operations
	// have rows for equal names, together up to rowShare times as many.
	maxRows  = 10_000
	rowShare = 4
)

// OnStart has no effect.
func (p *Processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a finished span. It profiles both sampled and record-only operations.
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
	// Operations of a name prefer one shard, because it has their attributes cached.
	sh := p.lock(uint32(maphash.String(p.seed, d.Name)))
	of, duration := sh.end(&d, &p.withOps)
	if p.metrics != nil && of != nil {
		p.metrics.record(&d, of, duration)
	}
}

// lock returns a locked shard, an idle one near n if possible. The shard's end unlocks it.
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

// Report returns the sums of all operations since the Processor was made. Self times and other figures that need the
// structure of the run are only in the page's report.
func (p *Processor) Report() *analyze.Report {
	sum := profile.New(profile.Options{RecordedFLOPs: true, MaxGroups: maxRows})
	for _, sh := range p.shards {
		sh.mu.Lock()
		sum.Merge(sh.profile)
		sh.mu.Unlock()
	}
	return analyze.ReportOn(sum)
}

// Dropped returns the number of operations missing from the report because their spans could not be read.
func (p *Processor) Dropped() uint64 { return p.dropped.Load() }

// ForceFlush returns at once: the report has all finished operations.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Shutdown makes the Processor ignore spans that end from now on. Its handler still answers.
func (p *Processor) Shutdown(context.Context) error {
	if p.stopped.Swap(true) || p.metrics == nil {
		return nil
	}
	return p.metrics.registration.Unregister()
}

// Handler returns the handler of the page, for any path with a final slash, such as /debug/optrace/, and paths below:
//
//   - the page itself; for the latest operations, ?format=json is their report, ?format=text the same as text
//     (&section=all has every section), ?format=collapsed their stacks, ?format=pprof a profile for go tool pprof;
//   - with ?format=json&since=start the report on all operations since the start, see [Processor.Report];
//   - data and trace.json, for the page.
func (p *Processor) Handler() http.Handler { return &p.page }

func (p *Processor) fill() {
	for _, sh := range p.shards {
		sh.drain(p.writer, p.page.Window)
	}
	p.writer.Flush()
}
