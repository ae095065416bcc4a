package traces

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// spanContext returns the context of a span in a trace of the first shard, or of another one for numbers from anyShard.
func spanContext(traceNumber, number int, remote bool) trace.SpanContext {
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:], uint64(traceNumber))
	binary.BigEndian.PutUint32(id[8:], uint32(traceNumber)*0x9e3779b9)
	if traceNumber >= anyShard {
		id = trace.TraceID(traceID(traceNumber))
	}
	var spanID trace.SpanID
	binary.BigEndian.PutUint64(spanID[:], uint64(number))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: spanID, Remote: remote})
}

const anyShard = 1 << 30

func start(r *Roots, name string, traceNumber, number, parent int, remote bool) {
	stub := tracetest.SpanStub{Name: name, SpanContext: spanContext(traceNumber, number, false)}
	if parent > 0 {
		stub.Parent = spanContext(traceNumber, parent, remote)
	}
	r.Started(stub.Snapshot())
}

func end(r *Roots, traceNumber, number, parent int, remote bool) span.Root {
	return r.Ended(spanContext(traceNumber, number, false), spanContext(traceNumber, parent, remote))
}

// below records an operation below a span and returns the name of its root.
func below(r *Roots, traceNumber, parent int) string {
	start(r, "operation", traceNumber, 1<<30, parent, false)
	return end(r, traceNumber, 1<<30, parent, false).Name
}

// Spans that never end, in any number of traces, roots and children, take the memory of the bound. An old trace in use
// and all new ones have their roots, and no operation has a root that is not above it. See docs/reliability.md.
func TestLeakedSpansStayBounded(t *testing.T) {
	const training, second, third = anyShard, 2, 1 << 29
	for _, tt := range []struct {
		name                    string
		traces, roots, children int // children of the last root of each trace
		first                   string
	}{
		{"many roots", 250_000, 1, 0, "first"}, {"long names", 30_000, 1, 0, strings.Repeat("n", 10<<10)},
		{"names too long to be read", 2000, 1, 0, strings.Repeat("n", 1<<20)},
		{"children in many traces", 600, 2, 500, "first"}, {"children in one trace", 1, 2, 50_000, "first"},
		{"roots in one trace", 1, 50_000, 0, "first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := check.Heap()
			r := new(Roots)
			start(r, "training", training, 1, 0, false)
			verify := func(traceNumber, parent int, want string, mayMiss bool) {
				t.Helper()
				if got := below(r, traceNumber, parent); got != want && (got != "" || !mayMiss) {
					t.Fatalf("trace %d: the root of an operation is %.20q, want %.20q", traceNumber-training, got, want)
				}
			}
			for n := training + 1; n <= training+tt.traces; n++ {
				start(r, strings.Clone(tt.first), n, 1, 0, false)
				for k := second; k <= tt.roots; k++ {
					start(r, "second", n, k, 1, true)
				}
				for k := range tt.children {
					start(r, "never ends", n, third+1+k, tt.roots, false)
				}
				if tt.roots > 1 {
					verify(n, 1, tt.first, true)
				} else if n%(tt.traces/100) == 0 {
					verify(training, 1, "training", false)
				}
			}
			if held, most := check.Heap()-before, int64(Shards*maxShardBytes+2<<20); held > most {
				t.Errorf("%d bytes are held, want %d at most", held, most)
			}
			if r.Forgotten() == 0 {
				t.Error("nothing is forgotten, or not counted: too few spans leak")
			}
			verify(training, 1, "training", tt.roots > 1)
			last := map[bool]string{true: "second", false: span.CutText(tt.first)}[tt.roots > 1]
			for n := training + tt.traces; n > training+max(0, tt.traces-600); n-- { // the set of evicted traces forgets
				verify(n, min(second, tt.roots), last, true) // in a trace of many roots a forgotten one
				start(r, "third", n, third, 1, true)
				verify(n, third, "third", false)
				verify(n, tt.roots, last, true)
				end(r, n, third, 1, true)
			}
			for n := range 1000 {
				start(r, "request", 2*training+n, 1, 0, false)
				verify(2*training+n, 1, "request", false)
				end(r, 2*training+n, 1, 0, false)
			}
		})
	}
}

// Operations that began before the end of their root have it, later ones do not. Other spans above them may have ended.
// Spans that began before the first note do not disturb others.
func TestRootsOfEndedSpans(t *testing.T) {
	const front, back, third, layer, ofFront, ofBack, unnoted = 1, 2, 3, 4, 5, 6, 7
	var r Roots
	start(&r, "front", 1, front, 0, false)
	start(&r, "operation", 1, ofFront, front, false)
	start(&r, "back", 1, back, front, true)
	start(&r, "operation", 1, ofBack, back, false)
	start(&r, "third", 1, third, front, true)
	start(&r, "layer", 1, layer, back, false)
	end(&r, 1, layer, back, false)
	check.Equal(t, "below a span that has ended", "back", below(&r, 1, layer))
	end(&r, 1, back, front, true)
	check.Equal(t, "late below back", "", below(&r, 1, layer))
	check.Equal(t, "of back", "back", end(&r, 1, ofBack, back, false).Name)
	end(&r, 1, front, 0, false)
	check.Equal(t, "of front", "front", end(&r, 1, ofFront, front, false).Name)
	end(&r, 1, third, front, true)
	check.Equal(t, "late", "", below(&r, 1, front))

	check.Equal(t, "below an unnoted root", "", below(&r, 2, unnoted))
	start(&r, "late", 2, back, unnoted, true)
	check.Equal(t, "below a noted root", "late", below(&r, 2, back))
	end(&r, 2, unnoted, 0, false)
	check.Equal(t, "after the end of the unnoted root", "late", below(&r, 2, back))
}

// A root opening in a trace with a forgotten first root is not the root of the first one's spans.
func TestRootAfterEviction(t *testing.T) {
	var r Roots
	start(&r, "first", 1, 1, 0, false)
	start(&r, "below first", 1, 2, 1, false)
	for n := 0; !r.evicted.Has(op.TraceID(spanContext(1, 1, false).TraceID())); n++ {
		if n > 100_000 {
			t.Fatal("nothing is evicted")
		}
		start(&r, "never ends", 2+n, 1, 0, false)
	}
	if r.Forgotten() == 0 {
		t.Error("what is forgotten is not counted")
	}
	start(&r, "second", 1, 3, 2, true)
	start(&r, "below second", 1, 4, 3, false)
	start(&r, "deep below second", 1, 5, 4, false)
	start(&r, "also below first", 1, 6, 1, false)
	for _, tt := range []struct {
		number, parent int
		want           string
	}{
		{2, 1, ""}, {5, 4, "second"}, {4, 3, "second"}, {6, 1, ""},
	} {
		if got := end(&r, 1, tt.number, tt.parent, false); got.Name != tt.want {
			t.Errorf("span %d is below %q, want %q", tt.number, got.Name, tt.want)
		}
	}
	end(&r, 1, 3, 2, true)
	if sh := r.shard(spanContext(1, 1, false).TraceID()); sh.traces.Find(spanContext(1, 1, false).TraceID()) != nil ||
		sh.multi.Load() != 0 {
		t.Error("the trace is still there")
	}
}

// A repeated span id in a trace, the mark of a broken program, does no harm.
func TestRootsOfEqualIDs(t *testing.T) {
	var r Roots
	start(&r, "first", 1, 1, 0, false)
	start(&r, "second", 1, 2, 1, true)
	for range 3 {
		start(&r, "again", 1, 2, 1, true)
	}
	if got := r.At(spanContext(1, 2, false).TraceID(),
		op.SpanID(spanContext(1, 2, false).SpanID())); got.Name != "again" {
		t.Errorf("the root is %q", got.Name)
	}
	end(&r, 1, 2, 1, true)
	r.Ended(spanContext(1, 1, false), trace.SpanContext{})
	if sh := &r.shards[0]; sh.traces.Len() != 0 || sh.multi.Load() != 0 {
		t.Errorf("%d traces are left", sh.traces.Len())
	}
}

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

func traceID(n int) (id op.TraceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

func TestWithOps(t *testing.T) {
	var w WithOps
	if w.Has(traceID(1)) || w.table.Load() != nil {
		t.Error("an empty set holds a trace or memory")
	}
	if n := unsafe.Sizeof(w); n > 64 {
		t.Errorf("a set that is not used takes %d bytes", n)
	}
	const traces = slots / 8
	for n := range traces {
		w.Add(traceID(n))
	}
	missing := 0
	for n := range traces {
		if !w.Has(traceID(n)) {
			missing++
		}
	}
	if missing > traces/50 {
		t.Errorf("%d of %d traces are forgotten", missing, traces)
	}
	for n := range 20 * slots {
		w.Add(traceID(traces + n))
	}
	if w.Has(traceID(0)) {
		t.Error("a trace stays although many newer ones have been added")
	}
}

func TestWithOpsConcurrentSafe(t *testing.T) {
	var w WithOps
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 1000 {
				w.Add(traceID(g*1000 + n))
				w.Has(traceID(n))
			}
		})
	}
	wg.Wait()
	w.Add(traceID(7))
	if !w.Has(traceID(7)) {
		t.Error("a trace that has just been added is not found")
	}
}

// A trace is known until some sixteen thousand others came.
func TestTracesAreKnownForLong(t *testing.T) {
	const marked, others = 1000, 16_000
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (id op.TraceID) {
		binary.BigEndian.PutUint64(id[:], r.Uint64())
		binary.BigEndian.PutUint64(id[8:], r.Uint64())
		return id
	}
	var s set
	ids := make([]op.TraceID, marked)
	for i := range ids {
		ids[i] = random()
		s.Add(ids[i])
	}
	for range others {
		s.Add(random())
	}
	known := 0
	for _, id := range ids {
		if s.Has(id) {
			known++
		}
	}
	if known < marked*99/100 {
		t.Errorf("%d of %d traces are known after %d others", known, marked, others)
	}
}
