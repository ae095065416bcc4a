package live

import (
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/recent"
)

// ancestry knows the spans that have started and have not ended, and the latest of those that
// ended with others below them, so that an operation has the frames above it when it ends
// before they do, or is recorded later. It is safe for concurrent use.
type ancestry struct {
	parts [ancestryParts]ancestryPart
}

// The bounds of an ancestry: how much memory it takes, and how much of it each span does that
// is open.
const (
	ancestryParts = 16
	maxOpenBytes  = 32 << 20
	openSpanBytes = 1 << 10
	maxEnded      = 1 << 12
)

// ancestryPart has the spans of some ids.
type ancestryPart struct {
	mu        sync.Mutex
	open      recent.Table[spanKey, *frame]
	forgotten int64
	ended     []spanKey // in open still; the oldest is at next once there are as many as there may be
	next      int
	_         [64]byte // the next part's lock is in another cache line
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(c trace.SpanContext) spanKey { return spanKey{c.TraceID(), c.SpanID()} }

// frame is a span and those above it.
type frame struct {
	above *frame // nil where it is not known, or not of this program
	span  sdktrace.ReadOnlySpan
	// isAbove is set where another span has started below it. The part's lock guards it, and
	// hasEnded.
	isAbove, hasEnded bool

	// pushed is the number of the fold that had the operation; 0 for none. Only the goroutine
	// that folds knows it.
	pushed uint64
	// missed is set where the operation will be in no fold.
	missed atomic.Bool
}

func (a *ancestry) part(k spanKey) *ancestryPart { return &a.parts[k.span[7]%ancestryParts] }

func (a *ancestry) start(s sdktrace.ReadOnlySpan) {
	f := &frame{span: s}
	if parent := s.Parent(); parent.IsValid() && !parent.IsRemote() {
		f.above = a.parent(keyOf(parent))
	}
	key := keyOf(s.SpanContext())
	p := a.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open.Find(key) != nil {
		return
	}
	p.open.Add(key, f, openSpanBytes)
	for p.open.Bytes() > maxOpenBytes/ancestryParts {
		_, old, ok := p.open.Evict(key)
		if !ok {
			break
		}
		if !old.hasEnded {
			old.missed.Store(true)
			p.forgotten++
		}
	}
}

// parent returns the frame of a span that another one starts below, nil where it is not
// known.
func (a *ancestry) parent(key spanKey) *frame {
	p := a.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.open.Find(key)
	if found == nil {
		return nil
	}
	(*found).isAbove = true
	return *found
}

// end returns the frame of a span that ends; one without others above it where it is not known.
func (a *ancestry) end(s sdktrace.ReadOnlySpan) *frame {
	key := keyOf(s.SpanContext())
	p := a.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.open.Find(key)
	if found == nil {
		return &frame{span: s}
	}
	f := *found
	if f.hasEnded = true; !f.isAbove {
		p.open.Remove(key)
		return f
	}
	if len(p.ended) < maxEnded/ancestryParts {
		p.ended = append(p.ended, key)
		return f
	}
	p.open.Remove(p.ended[p.next])
	p.ended[p.next] = key
	p.next = (p.next + 1) % len(p.ended)
	return f
}

// forgotten returns how many open spans there was no room for.
func (a *ancestry) forgotten() int64 {
	n := int64(0)
	for i := range a.parts {
		p := &a.parts[i]
		p.mu.Lock()
		n += p.forgotten
		p.mu.Unlock()
	}
	return n
}
