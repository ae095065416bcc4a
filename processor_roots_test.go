package optrace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

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
		entries, _ := entriesOf(t, func(tp *sdktrace.TracerProvider, _ *optrace.Processor) {
			spans := tp.Tracer("service")
			ops := optrace.NewTracer(tp)
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
		got := make(map[string]string)
		for _, e := range entries {
			got[e.Operation] = e.Root
			check.Equal(t, "root without an id", e.Root == "", e.RootSpanID.IsZero())
		}
		check.Equal(t, "roots by operation", want, got)
	})
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
