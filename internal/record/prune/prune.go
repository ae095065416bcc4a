// Package prune keeps short operations away from an exporter of spans and sums them up on the local root above them,
// in events called attrkey.PrunedEvent. Another event names the kinds of operations that took the root's time, those
// forwarded included. The Processor calls the package when a span ends.
package prune

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/recent"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Pruner decides whether a span is forwarded. It is safe for concurrent use.
//
// Beyond the memory bound it forgets the sums that have not grown lately. It forwards later operations below such a
// root.
type Pruner struct {
	threshold time.Duration
	ratio     float64 // share of the short operations forwarded all the same

	converters sync.Pool // of *convert.Converter
	shards     [traces.Shards]shard
	forgotten  atomic.Uint64
}

type shard struct {
	mu    sync.Mutex
	roots recent.Table[root, sums]
}

type sums struct {
	of    map[operation]*sum // nil while empty
	names int                // bytes
	kinds [kinds]time.Duration
}

// kinds bounds the kinds of operations.
const kinds = int(op.KindControl) + 1

type root struct {
	trace trace.TraceID
	span  op.SpanID
}

type operation struct{ name, device string }

type sum struct {
	count    int64
	duration time.Duration
}

const (
	// maxOps bounds the events on one root, and maxNames the bytes of their names. The rest is attrkey.PrunedOthers.
	maxOps        = 128
	maxNames      = 32 << 10
	maxShardBytes = 1 << 20       // bounds the memory of a shard
	sumBytes      = 24 + 2*(32+8) // about the memory of a sum without names, with its part of a map
)

// New returns a Pruner of operations shorter than threshold, except for the share ratio of them.
func New(threshold time.Duration, ratio float64) *Pruner {
	return &Pruner{
		threshold: threshold, ratio: ratio,
		converters: sync.Pool{New: func() any { return convert.New(nil, 0) }},
	}
}

func (p *Pruner) shard(id trace.TraceID) *shard { return &p.shards[id[15]%traces.Shards] }

// Started makes room for the summary of a local root. Operations are pruned only while their root has room.
func (p *Pruner) Started(s sdktrace.ReadOnlySpan) {
	if !span.IsLocalRoot(s.Parent()) {
		return
	}
	sc := s.SpanContext()
	sh := p.shard(sc.TraceID())
	sh.mu.Lock()
	defer sh.mu.Unlock()
	key := root{sc.TraceID(), op.SpanID(sc.SpanID())}
	if sh.roots.Find(key) == nil {
		sh.roots.Add(key, sums{}, 0)
		p.makeRoom(sh, key)
	}
}

func (p *Pruner) makeRoom(sh *shard, r root) {
	for sh.roots.Bytes() > maxShardBytes {
		_, evicted, ok := sh.roots.Evict(r)
		if !ok {
			return
		}
		for _, sum := range evicted.of {
			p.forgotten.Add(uint64(sum.count))
		}
	}
}

// Forgotten returns the number of operations pruned and missing from every summary.
func (p *Pruner) Forgotten() uint64 { return p.forgotten.Load() }

// Ended returns the span to forward for an ended one: nil for a pruned operation, and a local root with its summary.
func (p *Pruner) Ended(s sdktrace.ReadOnlySpan, r span.Root) sdktrace.ReadOnlySpan {
	if span.IsLocalRoot(s.Parent()) {
		return p.summarise(s)
	}
	if r.ID.IsZero() || s.ChildSpanCount() > 0 {
		return s
	}
	prunable := p.prunable(s)
	e, ok := p.entry(s)
	if !ok || !p.add(root{s.SpanContext().TraceID(), r.ID}, &e, s.EndTime().Sub(s.StartTime()), prunable) || !prunable {
		return s
	}
	return nil
}

// prunable reports whether s may be left out: it is short, without an error and without children.
func (p *Pruner) prunable(s sdktrace.ReadOnlySpan) bool {
	if s.ChildSpanCount() > 0 || s.Status().Code == codes.Error || s.EndTime().Sub(s.StartTime()) >= p.threshold {
		return false
	}
	if p.ratio == 0 {
		return true
	}
	// The id is random, so every process decides alike without a generator.
	id := s.SpanContext().SpanID()
	const full = 1 << 53
	return float64(binary.BigEndian.Uint64(id[:])>>11)/full >= p.ratio
}

// entry returns the operation of a span.
func (p *Pruner) entry(s sdktrace.ReadOnlySpan) (e op.Entry, ok bool) {
	attrs := s.Attributes()
	if !span.IsOperation(nil, attrs) {
		return e, false
	}
	c := p.converters.Get().(*convert.Converter)
	defer p.converters.Put(c)
	converted, ok := c.Entry(&span.Data{Name: s.Name(), Attrs: attrs}, span.Root{})
	if !ok {
		return e, false
	}
	return op.Entry{
		Operation: converted.Operation, DeviceID: converted.DeviceID, Kind: converted.Kind, Side: converted.Side,
	}, true
}

// add adds an operation to the sums of a root, as a part of its summary if it is pruned. It reports false for an unknown
// root.
func (p *Pruner) add(r root, e *op.Entry, d time.Duration, pruned bool) bool {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	all := sh.roots.Find(r)
	if all == nil {
		return false
	}
	if int(e.Kind) < kinds && e.Side == op.SideNone {
		all.kinds[e.Kind] += d
	}
	if !pruned {
		return true
	}
	if all.of == nil {
		all.of = make(map[operation]*sum)
	}
	o := operation{e.Operation, e.DeviceID}
	added := all.of[o]
	names := len(o.name) + len(o.device)
	if added == nil && (len(all.of) >= maxOps || all.names+names > maxNames) {
		o = operation{name: attrkey.PrunedOthers}
		names = 0
		added = all.of[o]
	}
	if added == nil {
		added = &sum{}
		all.of[o] = added
		all.names += names
		sh.roots.Grow(r, sumBytes+names)
		p.makeRoom(sh, r)
	}
	added.count++
	added.duration += d
	return true
}

func (p *Pruner) take(r root) (taken sums) {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if all := sh.roots.Find(r); all != nil {
		taken = *all
		sh.roots.Remove(r)
	}
	return taken
}

// Forget is Ended for a span that is not forwarded for another reason.
func (p *Pruner) Forget(s sdktrace.ReadOnlySpan) {
	if span.IsLocalRoot(s.Parent()) {
		sc := s.SpanContext()
		p.take(root{sc.TraceID(), op.SpanID(sc.SpanID())})
	}
}

func (p *Pruner) summarise(s sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	sc := s.SpanContext()
	key := root{sc.TraceID(), op.SpanID(sc.SpanID())}
	sums := p.take(key)
	words := sums.words(s.EndTime().Sub(s.StartTime()))
	if words == "" && len(sums.of) == 0 {
		return s
	}
	events := slices.Clone(s.Events())
	if words != "" {
		events = append(events, sdktrace.Event{Name: words, Time: s.EndTime()})
	}
	first := len(events)
	for o, sum := range sums.of {
		attrs := []attribute.KeyValue{tensorconv.OpName(o.name)}
		if o.device != "" {
			attrs = append(attrs, tensorconv.DeviceID(o.device))
		}
		attrs = append(attrs, attribute.Int64(attrkey.PrunedCount, sum.count),
			attribute.Int64(attrkey.PrunedDuration, int64(sum.duration)))
		events = append(events, sdktrace.Event{Name: attrkey.PrunedEvent, Time: s.EndTime(), Attributes: attrs})
	}
	added := events[first:]
	slices.SortFunc(added, func(a, b sdktrace.Event) int {
		return cmp.Or(cmp.Compare(a.Attributes[0].Value.AsString(), b.Attributes[0].Value.AsString()),
			cmp.Compare(a.Attributes[1].Value.AsString(), b.Attributes[1].Value.AsString()))
	})
	return &summarisedSpan{ReadOnlySpan: s, events: events}
}

// words names the largest kinds of operations, with their shares of a duration, such as "optrace: compute 71 %". Shares
// add up to more than 100 % if operations run at once. It returns "" if no kind has half a percent.
func (s *sums) words(duration time.Duration) string {
	share := func(k op.Kind) float64 { return 100 * float64(s.kinds[k]) / float64(max(1, duration)) }
	var order []op.Kind
	for k := range s.kinds {
		if share(op.Kind(k)) >= 0.5 {
			order = append(order, op.Kind(k))
		}
	}
	slices.SortStableFunc(order, func(a, b op.Kind) int { return cmp.Compare(s.kinds[b], s.kinds[a]) })
	var parts []string
	for _, k := range order {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", cmp.Or(k.String(), "other"), share(k)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "optrace: " + strings.Join(parts, ", ")
}

type summarisedSpan struct {
	sdktrace.ReadOnlySpan
	events []sdktrace.Event
}

func (s *summarisedSpan) Events() []sdktrace.Event { return s.events }
