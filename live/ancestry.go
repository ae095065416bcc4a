package live

import (
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/recent"
)

// ancestry knows the spans that have started and have not ended, and the latest of those that
// ended with others below them, so that an operation has the frames above it when it ends
// before they do, or is recorded later. It is safe for concurrent use.
type ancestry struct {
	mu    sync.Mutex
	open  recent.Table[spanKey, *frame]
	lost  atomic.Int64      // open spans that there was no room for
	ended [maxEnded]spanKey // in open still; the oldest is at next
	next  int
}

// The bounds of an ancestry: how much memory it takes, and how much of it each span does that
// is open.
const (
	maxOpenBytes  = 32 << 20
	openSpanBytes = 1 << 10
	maxEnded      = 1 << 12
)

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(c trace.SpanContext) spanKey { return spanKey{c.TraceID(), c.SpanID()} }

// frame is a span and those above it.
type frame struct {
	above *frame // nil where it is not known, or not of this program
	span  sdktrace.ReadOnlySpan
	// isAbove is set where another span has started below it. The ancestry's lock guards it, and
	// hasEnded.
	isAbove, hasEnded bool

	// pushed is the number of the fold that had the operation; 0 for none. Only the goroutine
	// that folds knows it.
	pushed uint64
	// missed is set where the operation will be in no fold.
	missed atomic.Bool
}

func (a *ancestry) start(s sdktrace.ReadOnlySpan) {
	key, parent := keyOf(s.SpanContext()), s.Parent()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open.Find(key) != nil {
		return
	}
	f := &frame{span: s}
	if parent.IsValid() && !parent.IsRemote() {
		if above := a.open.Find(keyOf(parent)); above != nil {
			f.above, (*above).isAbove = *above, true
		}
	}
	a.open.Add(key, f, openSpanBytes)
	for a.open.Bytes() > maxOpenBytes {
		_, old, ok := a.open.Evict(key)
		if !ok {
			break
		}
		if !old.hasEnded {
			old.missed.Store(true)
			a.lost.Add(1)
		}
	}
}

// end returns the frame of a span that ends; one without others above it where it is not known.
func (a *ancestry) end(s sdktrace.ReadOnlySpan) *frame {
	key := keyOf(s.SpanContext())
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.open.Find(key)
	if found == nil {
		return &frame{span: s}
	}
	f := *found
	if f.hasEnded = true; !f.isAbove {
		a.open.Remove(key)
		return f
	}
	a.open.Remove(a.ended[a.next])
	a.ended[a.next] = key
	a.next = (a.next + 1) % maxEnded
	return f
}
