package optrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// rootsOf runs f with a provider and returns the local root of each operation by name.
func rootsOf(t *testing.T, f func(spans trace.Tracer, ops *optrace.Tracer)) map[string]string {
	t.Helper()
	entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, _ *optrace.Processor) {
		f(tp.Tracer("service"), optrace.NewTracer(tp))
	})
	return rootsIn(t, entries)
}

func rootsIn(t *testing.T, entries []*op.Entry) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for _, e := range entries {
		if (e.Root == "") != e.RootSpanID.IsZero() {
			t.Errorf("%s: root %q with id %v", e.Operation, e.Root, e.RootSpanID)
		}
		got[e.Operation] = e.Root
	}
	return got
}

// run records the operation name below ctx.
func run(ctx context.Context, ops *optrace.Tracer, name string) {
	_, o := ops.Start(ctx, name, "")
	o.End()
}

// remote returns a server's context: its parent is a span of another process.
func remote(ctx context.Context) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.SpanContextFromContext(ctx))
}

// An operation has the name of its local root at the time the operation began. A trace may have several local roots, as
// a service that calls itself has, and a program with many requests.
func TestRootStamping(t *testing.T) {
	type node struct {
		ctx  context.Context
		end  func()
		name string
		root *node
		open bool
	}
	cases.Inputs(t, 20, 300, func(_ uint64, r *rand.Rand) {
		want := make(map[string]string)
		got := rootsOf(t, func(spans trace.Tracer, ops *optrace.Tracer) {
			nodes := []*node{{ctx: trace.ContextWithRemoteSpanContext(t.Context(), spantest.SpanContext(3, 3))},
				{ctx: t.Context()}}
			for i := range 100 {
				above := nodes[r.IntN(len(nodes))]
				n := &node{name: fmt.Sprint(i), open: true}
				n.root = n
				switch what := r.IntN(6); {
				case above.root == nil && what == 0: // an operation is the root
					var o optrace.Op
					n.ctx, o = ops.Start(above.ctx, n.name, "")
					n.end = o.End
					want[n.name] = ""
				case above.root == nil || what == 1: // a request, maybe from the same service
					var s trace.Span
					n.ctx, s = spans.Start(remote(above.ctx), n.name)
					n.end = func() { s.End() }
				case !above.open || !above.root.open:
					continue
				case what == 2:
					var s trace.Span
					n.ctx, s = spans.Start(above.ctx, n.name)
					n.end = func() { s.End() }
					n.root = above.root
				case what == 3:
					above.end()
					above.open = false
					continue
				default:
					trace.SpanFromContext(above.ctx).SetName("renamed")
					run(above.ctx, ops, n.name)
					want[n.name] = above.root.name
					continue
				}
				nodes = append(nodes, n)
			}
			for _, n := range nodes[2:] {
				n.end()
			}
		})
		check.Equal(t, "roots by operation", want, got)
	})
}

// Operations that began before the end of their root have it, later ones do not. Other spans above them may have ended.
func TestRootsThatHaveEnded(t *testing.T) {
	got := rootsOf(t, func(spans trace.Tracer, ops *optrace.Tracer) {
		front, frontSpan := spans.Start(t.Context(), "front")
		_, frontOp := ops.Start(front, "of front", "")
		back, backSpan := spans.Start(remote(front), "back")
		_, backOp := ops.Start(back, "of back", "")
		_, third := spans.Start(remote(front), "third")
		layer, layerSpan := spans.Start(back, "layer")
		layerSpan.End()
		run(layer, ops, "below what has ended")
		backSpan.End()
		run(layer, ops, "late below back")
		backOp.End()
		frontSpan.End()
		frontOp.End()
		third.End()
		ctx, request := spans.Start(t.Context(), "request")
		request.End()
		run(ctx, ops, "late")
	})
	check.Equal(t, "roots by operation", map[string]string{
		"of front": "front", "of back": "back", "below what has ended": "back", "late below back": "", "late": "",
	}, got)
}

// Spans that began before the processor was registered do not disturb others.
func TestRootsRegisteredLate(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider()
	// Without a processor the SDK does not record spans.
	tp.RegisterSpanProcessor(sdktrace.NewSimpleSpanProcessor(&spantest.Exporter{}))
	spans := tp.Tracer("service")
	ops := optrace.NewTracer(tp)
	early, earlySpan := spans.Start(t.Context(), "early")
	tp.RegisterSpanProcessor(proc)
	run(early, ops, "below early")
	late, lateSpan := spans.Start(remote(early), "late")
	run(late, ops, "below late")
	earlySpan.End()
	run(late, ops, "still below late")
	lateSpan.End()
	shutdown(t, tp)
	want := map[string]string{"below early": "", "below late": "late", "still below late": "late"}
	check.Equal(t, "roots by operation", want, rootsIn(t, spantest.ReadWhole(t, buf.Bytes()).Entries))
}

func TestRootStampingConcurrentSafe(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	spans := tp.Tracer("service")
	ops := optrace.NewTracer(tp)
	shared, sharedSpan := spans.Start(t.Context(), "shared")
	atOnce(8, func(i int) {
		for j := range 50 {
			name := fmt.Sprint("request ", i, " ", j)
			ctx := t.Context()
			if i%2 == 0 {
				ctx = remote(shared)
			}
			ctx, request := spans.Start(ctx, name)
			layer, layerSpan := spans.Start(ctx, "layer")
			run(layer, ops, name)
			layerSpan.End()
			request.End()
		}
	})
	sharedSpan.End()
	shutdown(t, tp)
	entries := spantest.ReadWhole(t, buf.Bytes()).Entries
	for _, e := range entries {
		if e.Root != e.Operation || e.RootSpanID == (op.SpanID{}) {
			t.Errorf("operation %q has the root %q", e.Operation, e.Root)
		}
	}
	check.Equal(t, "entries", 8*50, len(entries))
}

// Bounds: 24 MiB for the tables of open spans, as documented in Stats, and 32 MiB for the sums below them.
const (
	tableBytes = 24 << 20
	sumBytes   = 32 << 20
)

// leaks is a processor with spans that never end.
type leaks struct {
	*testing.T
	proc   *optrace.Processor
	spans  trace.Tracer
	ops    *optrace.Tracer
	before int64 // bytes of heap in use
}

func newLeaks(t *testing.T, proc *optrace.Processor) *leaks {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return &leaks{t, proc, tp.Tracer("service"), optrace.NewTracer(tp), check.Heap()}
}

// checkMemory fails if the processor holds more than the tables and some MiB.
func (l *leaks) checkMemory() {
	l.Helper()
	const rest = 4 << 20
	if held := check.Heap() - l.before; held > tableBytes+rest {
		l.Errorf("%.1f MiB are held, want %d at most", float64(held)/(1<<20), (tableBytes+rest)>>20)
	}
	if l.proc.Stats().EvictedSpans == 0 {
		l.Error("nothing is forgotten, or not counted: too few spans leak")
	}
}

// requests makes new traces with an operation each and shuts the processor down.
func (l *leaks) requests(n int) {
	l.Helper()
	for range n {
		ctx, request := l.spans.Start(l.Context(), "request")
		run(ctx, l.ops, "relu")
		request.End()
	}
	check.OK(l, l.proc.Shutdown(l.Context()))
}

// Roots that never end do not disturb other traces, new or old. Row M1 of docs/reliability.md.
func TestLeakedRootsStayBounded(t *testing.T) {
	type leak struct {
		name  string
		leaks int
		root  string
	}
	for tt := range cases.Of(t, 1, []leak{
		{"many", 250_000, "never ends"},
		{"long names", 30_000, strings.Repeat("n", 10<<10)},
		{"names too long to be read", 2000, strings.Repeat("n", 1<<20)},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			var buf spantest.Buffer
			l := newLeaks(t, newProcessor(t, newExporter(t, &buf)))
			training, span := l.spans.Start(t.Context(), "training")
			for i := range tt.leaks {
				l.spans.Start(t.Context(), strings.Clone(tt.root))
				if i%(tt.leaks/100) == 0 {
					run(training, l.ops, "matmul")
				}
			}
			l.checkMemory()
			run(training, l.ops, "matmul")
			span.End()
			l.requests(1000)
			got := map[string]int{}
			for _, e := range spantest.ReadWhole(t, buf.Bytes()).Entries {
				got[e.Operation+" below "+e.Root]++
			}
			check.Equal(t, "operations by root",
				map[string]int{"matmul below training": 101, "relu below request": 1000}, got)
		})
	}
}

// Spans that never end in traces with several roots are bounded. No operation gets a root that is not above it.
func TestLeakedSpansOfSeveralRootsStayBounded(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		traces, roots, children int
	}{
		{"children in many traces", 600, 2, 500},
		{"children in one trace", 1, 2, 50_000},
		{"roots in one trace", 1, 50_000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var buf spantest.Buffer
			l := newLeaks(t, newProcessor(t, newExporter(t, &buf)))
			leaking := make([]context.Context, tt.traces)
			for i := range leaking {
				first, _ := l.spans.Start(t.Context(), "first")
				leaking[i] = first
				for range tt.roots - 1 {
					leaking[i], _ = l.spans.Start(remote(first), "second")
				}
				for range tt.children {
					l.spans.Start(leaking[i], "never ends")
				}
				run(first, l.ops, "add")
			}
			l.checkMemory()
			for _, ctx := range leaking {
				run(ctx, l.ops, "matmul")
				third, span := l.spans.Start(remote(ctx), "third")
				run(third, l.ops, "softmax")
				run(ctx, l.ops, "matmul")
				span.End()
			}
			l.requests(1000)
			right := map[string]string{"add": "first", "matmul": "second", "softmax": "third", "relu": "request"}
			got := map[string]int{}
			for _, e := range spantest.ReadWhole(t, buf.Bytes()).Entries {
				if e.Root != "" && e.Root != right[e.Operation] {
					t.Fatalf("%s is below %q, want %q or none", e.Operation, e.Root, right[e.Operation])
				}
				if e.Root != "" {
					got[e.Operation]++
				}
			}
			if got["softmax"] != tt.traces || got["relu"] != 1000 {
				t.Errorf("operations with a root are %v, want all that are below new ones", got)
			}
		})
	}
}

// A forwarder sums up operations below new roots after any leak.
func TestLeakedRootsWithForwardThresholdStayBounded(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	type leak struct {
		name  string
		leaks int
		ops   int // operations below each
		width int // length of their names
	}
	for tt := range cases.Of(t, 1, []leak{
		{"many", 300_000, 0, 0},
		{"with operations", 4000, 130, 10},
		{"with operations of long names", 1500, 20, 10 << 10},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			out := &spantest.Exporter{}
			proc := newForwarder(t, out, optrace.WithForwardThreshold(time.Hour))
			l := newLeaks(t, proc)
			for i := range tt.leaks {
				ctx, _ := l.spans.Start(t.Context(), "never ends")
				rec := proc.Recorder(ctx)
				for k := range tt.ops {
					rec.Begin(fmt.Sprintf("%0*d", tt.width, i*tt.ops+k), "")
				}
				rec.Finish()
			}
			const both = tableBytes + sumBytes
			if held := check.Heap() - l.before; held > both {
				t.Errorf("%.1f MiB are held, want %d at most", float64(held)/(1<<20), both>>20)
			}
			if st := proc.Stats(); st.Skipped != uint64(tt.leaks*tt.ops) || tt.ops > 0 != (st.Unsummarized > 0) {
				t.Errorf("stats are %+v, want %d skipped, and some unsummed if there are any", st, tt.leaks*tt.ops)
			}
			l.requests(1000)
			sums := 0
			for _, s := range out.Stubs() {
				if s.Name != "request" {
					t.Fatalf("%s is forwarded", s.Name)
				}
				for _, e := range s.Events {
					if e.Name == attrkey.PrunedEvent {
						sums++
					}
				}
			}
			check.Equal(t, "sums", 1000, sums)
		})
	}
}
