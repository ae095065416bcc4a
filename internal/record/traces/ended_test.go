package traces

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

func spanID(n int) op.SpanID { return op.SpanID(spanContext(0, n, false).SpanID()) }

// hold holds a span of a trace below the one with the next smaller number.
func hold(w *WithOps, trace, n, bytes int) (s sdktrace.ReadOnlySpan, held bool) {
	s = &struct{ sdktrace.ReadOnlySpan }{}
	id := traceID(trace)
	return s, w.Hold(s, id, RefTo(id, spanID(n)), RefTo(id, spanID(n-1)), bytes)
}

// A span of a trace with operations is not held: no later operation looks for it.
func TestHoldAfterOperations(t *testing.T) {
	var w WithOps
	if _, held := hold(&w, 1, 1, 500); !held {
		t.Error("a span of a trace without operations is not held")
	}
	w.Add(traceID(1))
	if _, held := hold(&w, 1, 2, 500); held {
		t.Error("a span of a trace with operations is held")
	}
}

// Every held span is released once, or counted once as lost, with its parent. Before the first operation an eighth of
// the memory is used.
func TestHoldKeepsToItsBound(t *testing.T) {
	for _, tt := range []struct {
		name                string
		withOps             bool
		spans, bytes        int
		leastHeld, mostHeld int
	}{
		{"few", false, 100, 500, 100, 100},
		{"small", true, 30_000, 500, 12_000, 8 * maxEndedBytes / 500},
		{"large", true, 1000, 100_000, 50, 8 * maxEndedBytes / 100_000},
		{"too large", true, 100, maxEndedBytes + 1, 0, 0},
		{"before operations", false, 4000, 500, 1300, maxEndedBytes / 500},
	} {
		var w WithOps
		if tt.withOps {
			w.Add(traceID(0))
		}
		held := make(map[int]sdktrace.ReadOnlySpan)
		for n := 1; n <= tt.spans; n++ {
			held[n], _ = hold(&w, 1+n%7, n, tt.bytes)
		}
		released := 0
		known := 0
		for range 2 {
			for n := 1; n <= tt.spans; n++ {
				id := traceID(1 + n%7)
				s, parent := w.Release(RefTo(id, spanID(n)))
				switch {
				case s != nil:
					released++
					if s != held[n] {
						t.Errorf("%s: span %d is another one", tt.name, n)
					}
				case parent != 0:
					known++
					if parent != RefTo(id, spanID(n-1)) {
						t.Errorf("%s: span %d has another parent", tt.name, n)
					}
				}
			}
		}
		lost := int(w.LostParents())
		if released+lost != tt.spans || released < tt.leastHeld || released > tt.mostHeld {
			t.Errorf("%s: of %d spans %d are released, want %d to %d, and %d lost",
				tt.name, tt.spans, released, tt.leastHeld, tt.mostHeld, lost)
		}
		if n := lost - known; n < 0 || n > 1 { // the first span has no parent
			t.Errorf("%s: %d parents of %d lost spans are known", tt.name, known, lost)
		}
		for i := range w.ended.Load() {
			if sh := &w.ended.Load()[i]; sh.bytes != 0 || len(sh.slots) > maxEndedSlots {
				t.Errorf("%s: %d bytes are held, in %d slots", tt.name, sh.bytes, len(sh.slots))
			}
		}
	}
}
