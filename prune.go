package optrace

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The event that tells on a local root which operations below it were not
// forwarded. There is one for each operation and device.
const (
	// EventPruned is the name of the event. It carries tensor.op.name and
	// tensor.device.id, and the two keys below.
	EventPruned = "tensor.ops.pruned"
	// KeyPrunedCount is how many operations were left out.
	KeyPrunedCount = attribute.Key("tensor.ops.pruned.count")
	// KeyPrunedDuration is the sum of their durations in nanoseconds.
	KeyPrunedDuration = attribute.Key("tensor.ops.pruned.duration")
)

// pruner keeps short operations away from an exporter of spans and sums them up
// on the local root above them. It is safe for concurrent use.
type pruner struct {
	threshold time.Duration
	ratio     float64 // of the operations below the threshold, forwarded all the same

	converters sync.Pool // of *converter
	shards     [rootShards]prunerShard
}

type prunerShard struct {
	mu    sync.Mutex
	roots map[prunedRoot]map[prunedOp]*prunedSum
}

type prunedRoot struct {
	trace trace.TraceID
	span  op.SpanID
}

type prunedOp struct{ name, device string }

type prunedSum struct {
	count    int64
	duration time.Duration
}

// maxPrunedOps bounds the events on one root; what is beyond goes to one named
// otherOps.
const (
	maxPrunedOps = 128
	otherOps     = "(other)"
)

func newPruner(threshold time.Duration, ratio float64) *pruner {
	return &pruner{
		threshold: threshold, ratio: ratio,
		converters: sync.Pool{New: func() any { return newConverter(nil) }},
	}
}

func (p *pruner) shard(id trace.TraceID) *prunerShard { return &p.shards[id[15]%rootShards] }

// started makes room for the summary of a local root. Operations are pruned only
// while their root has it, so that none is lost to a root that has ended.
func (p *pruner) started(s sdktrace.ReadOnlySpan) {
	if !isLocalRoot(s) {
		return
	}
	sc := s.SpanContext()
	sh := p.shard(sc.TraceID())
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.roots == nil {
		sh.roots = make(map[prunedRoot]map[prunedOp]*prunedSum)
	}
	if len(sh.roots) < maxRootsPerShard {
		sh.roots[prunedRoot{sc.TraceID(), op.SpanID(sc.SpanID())}] = nil
	}
}

// ended returns what to forward for a span that ended: nil for an operation
// that is pruned, and a local root with the summary of those below it.
func (p *pruner) ended(s sdktrace.ReadOnlySpan, r root) sdktrace.ReadOnlySpan {
	if isLocalRoot(s) {
		return p.summarise(s)
	}
	if !p.prunable(s) || r.id.IsZero() {
		return s
	}
	name, device, ok := p.operation(s)
	if !ok || !p.add(prunedRoot{s.SpanContext().TraceID(), r.id}, prunedOp{name, device}, s.EndTime().Sub(s.StartTime())) {
		return s
	}
	return nil
}

// prunable tells the spans of which nothing would be missed: short, without an
// error, and without children, which would lose their parent.
func (p *pruner) prunable(s sdktrace.ReadOnlySpan) bool {
	if s.ChildSpanCount() > 0 || s.Status().Code == codes.Error || s.EndTime().Sub(s.StartTime()) >= p.threshold {
		return false
	}
	if p.ratio == 0 {
		return true
	}
	// The id is random: the same decision everywhere, without a generator.
	id := s.SpanContext().SpanID()
	const full = 1 << 53
	return float64(binary.BigEndian.Uint64(id[:])>>11)/full >= p.ratio
}

// operation returns the name and device of an operation.
func (p *pruner) operation(s sdktrace.ReadOnlySpan) (name, device string, ok bool) {
	c := p.converters.Get().(*converter)
	defer p.converters.Put(c)
	v := viewOf(s, s.SpanContext(), s.Parent())
	e, ok := c.entry(&v, root{})
	if !ok {
		return "", "", false
	}
	return e.Operation, e.DeviceID, true
}

func (p *pruner) add(r prunedRoot, o prunedOp, d time.Duration) bool {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sums, open := sh.roots[r]
	if !open {
		return false
	}
	if sums == nil {
		sums = make(map[prunedOp]*prunedSum)
		sh.roots[r] = sums
	}
	if sums[o] == nil && len(sums) >= maxPrunedOps {
		o = prunedOp{name: otherOps}
	}
	if sums[o] == nil {
		sums[o] = &prunedSum{}
	}
	sums[o].count++
	sums[o].duration += d
	return true
}

// take returns the summary of a local root and forgets the root.
func (p *pruner) take(r prunedRoot) map[prunedOp]*prunedSum {
	sh := p.shard(r.trace)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sums := sh.roots[r]
	delete(sh.roots, r)
	return sums
}

// forget is ended for a span that is not forwarded for another reason.
func (p *pruner) forget(s sdktrace.ReadOnlySpan) {
	if isLocalRoot(s) {
		sc := s.SpanContext()
		p.take(prunedRoot{sc.TraceID(), op.SpanID(sc.SpanID())})
	}
}

// summarise returns the local root s with an event for each operation that was
// pruned below it.
func (p *pruner) summarise(s sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	sc := s.SpanContext()
	key := prunedRoot{sc.TraceID(), op.SpanID(sc.SpanID())}
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
		attrs = append(attrs, KeyPrunedCount.Int64(sum.count), KeyPrunedDuration.Int64(int64(sum.duration)))
		events = append(events, sdktrace.Event{Name: EventPruned, Time: s.EndTime(), Attributes: attrs})
	}
	added := events[len(s.Events()):]
	slices.SortFunc(added, func(a, b sdktrace.Event) int {
		return cmp.Or(
			cmp.Compare(a.Attributes[0].Value.AsString(), b.Attributes[0].Value.AsString()),
			cmp.Compare(a.Attributes[1].Value.AsString(), b.Attributes[1].Value.AsString()))
	})
	return &summarisedSpan{ReadOnlySpan: s, events: events}
}

// summarisedSpan is a span with events added after it ended, which the SDK has
// no place for.
type summarisedSpan struct {
	sdktrace.ReadOnlySpan
	events []sdktrace.Event
}

func (s *summarisedSpan) Events() []sdktrace.Event { return s.events }
