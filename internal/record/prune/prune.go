// Package prune keeps short operations away from an exporter of spans and sums them up on the local root above them,
// in events called attrkey.PrunedEvent. The Processor calls it when a span ends.
package prune

import (
	"cmp"
	"encoding/binary"
	"slices"
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
}

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
	maxOps   = 128
	maxNames = 32 << 10
	// maxShardBytes bounds the memory of a shard.
	maxShardBytes = 1 << 20
	// sumBytes is about the memory of a sum without names, with its part of a map.
	sumBytes = 24 + 2*(32+8)
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
	if !p.prunable(s) || r.ID.IsZero() {
		return s
	}
	o, ok := p.operation(s)
	if !ok || !p.add(root{s.SpanContext().TraceID(), r.ID}, o, s.EndTime().Sub(s.StartTime())) {
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

func (p *Pruner) operation(s sdktrace.ReadOnlySpan) (o operation, ok bool) {
	attrs := s.Attributes()
	if !span.IsOperation(nil, attrs) {
		return o, false
	}
	c := p.converters.Get().(*convert.Converter)
	defer p.converters.Put(c)
	e, ok := c.Entry(&span.Data{Name: s.Name(), Attrs: attrs}, span.Root{})
	if !ok {
		return o, false
	}
	return operation{e.Operation, e.DeviceID}, true
}

// add adds an operation to the sums of a root. It reports false for an unknown root.
func (p *Pruner) add(r root, o operation, d time.Duration) bool {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	all := sh.roots.Find(r)
	if all == nil {
		return false
	}
	if all.of == nil {
		all.of = make(map[operation]*sum)
	}
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

func (p *Pruner) take(r root) (taken map[operation]*sum) {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if all := sh.roots.Find(r); all != nil {
		taken = all.of
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
	if len(sums) == 0 {
		return s
	}
	events := slices.Clone(s.Events())
	for o, sum := range sums {
		attrs := []attribute.KeyValue{tensorconv.OpName(o.name)}
		if o.device != "" {
			attrs = append(attrs, tensorconv.DeviceID(o.device))
		}
		attrs = append(attrs, attribute.Int64(attrkey.PrunedCount, sum.count),
			attribute.Int64(attrkey.PrunedDuration, int64(sum.duration)))
		events = append(events, sdktrace.Event{Name: attrkey.PrunedEvent, Time: s.EndTime(), Attributes: attrs})
	}
	added := events[len(s.Events()):]
	slices.SortFunc(added, func(a, b sdktrace.Event) int {
		return cmp.Or(
			cmp.Compare(a.Attributes[0].Value.AsString(), b.Attributes[0].Value.AsString()),
			cmp.Compare(a.Attributes[1].Value.AsString(), b.Attributes[1].Value.AsString()))
	})
	return &summarisedSpan{ReadOnlySpan: s, events: events}
}

type summarisedSpan struct {
	sdktrace.ReadOnlySpan
	events []sdktrace.Event
}

func (s *summarisedSpan) Events() []sdktrace.Event { return s.events }
