package optrace_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// rootsOf runs f with a provider and returns, for each operation by its name,
// the local root that it was stamped with.
func rootsOf(t *testing.T, f func(spans trace.Tracer, ops *optrace.Tracer)) map[string]string {
	t.Helper()
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	f(tp.Tracer("service"), optrace.NewTracer(tp))
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range spantest.ReadWhole(t, buf.Bytes()).Entries {
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

// remote returns a context as a server has it: the caller's span, from another
// process, is the parent.
func remote(ctx context.Context) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.SpanContextFromContext(ctx))
}

func TestRootStamping(t *testing.T) {
	bg := context.Background()
	tests := []struct {
		name string
		run  func(spans trace.Tracer, ops *optrace.Tracer)
		want map[string]string
	}{
		{
			name: "one root",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				ctx, request := spans.Start(bg, "request")
				run(ctx, ops, "a")
				layer, span := spans.Start(ctx, "layer")
				run(layer, ops, "b")
				span.End()
				request.End()
			},
			want: map[string]string{"a": "request", "b": "request"},
		},
		{
			name: "an operation is the root",
			run: func(_ trace.Tracer, ops *optrace.Tracer) {
				ctx, outer := ops.Start(bg, "outer", "")
				run(ctx, ops, "inner")
				outer.End()
			},
			want: map[string]string{"outer": "", "inner": "outer"},
		},
		{
			name: "remote parent",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				caller := trace.ContextWithRemoteSpanContext(bg, spantest.SpanContext(3, 3))
				ctx, request := spans.Start(caller, "request")
				run(ctx, ops, "a")
				request.End()
			},
			want: map[string]string{"a": "request"},
		},
		{
			// The service calls itself: both requests belong to one trace.
			name: "several roots in one trace",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				front, frontSpan := spans.Start(bg, "front")
				layer, layerSpan := spans.Start(front, "layer")
				back, backSpan := spans.Start(remote(front), "back")
				run(back, ops, "in back")
				deep, deepSpan := spans.Start(back, "deep")
				run(deep, ops, "deep in back")
				run(front, ops, "in front")
				run(layer, ops, "in a layer from before")
				other, otherSpan := spans.Start(remote(back), "third")
				run(other, ops, "in third")
				otherSpan.End()
				deepSpan.End()
				backSpan.End()
				run(front, ops, "in front, later")
				layerSpan.End()
				frontSpan.End()
			},
			want: map[string]string{
				"in back": "back", "deep in back": "back", "in front": "front", "in a layer from before": "front",
				"in third": "third", "in front, later": "front",
			},
		},
		{
			name: "operations that outlive their root",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				front, frontSpan := spans.Start(bg, "front")
				_, frontOp := ops.Start(front, "of front", "")
				back, backSpan := spans.Start(remote(front), "back")
				_, backOp := ops.Start(back, "of back", "")
				_, third := spans.Start(remote(front), "third")
				backSpan.End()
				backOp.End()
				frontSpan.End()
				frontOp.End()
				third.End()
			},
			want: map[string]string{"of front": "front", "of back": "back"},
		},
		{
			name: "a root of each trace",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				for i := range 100 {
					ctx, request := spans.Start(bg, fmt.Sprint("request ", i))
					defer request.End()
					run(ctx, ops, fmt.Sprint("op ", i))
				}
			},
			want: func() map[string]string {
				all := make(map[string]string)
				for i := range 100 {
					all[fmt.Sprint("op ", i)] = fmt.Sprint("request ", i)
				}
				return all
			}(),
		},
		{
			// The root's record has the final name; operations have the one at their end.
			name: "renamed root",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				ctx, request := spans.Start(bg, "HTTP POST")
				request.SetName("POST /generate")
				run(ctx, ops, "a")
				request.End()
			},
			want: map[string]string{"a": "HTTP POST"},
		},
		{
			name: "a root that has ended",
			run: func(spans trace.Tracer, ops *optrace.Tracer) {
				ctx, request := spans.Start(bg, "request")
				request.End()
				run(ctx, ops, "a")
			},
			want: map[string]string{"a": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rootsOf(t, tt.run)); diff != "" {
				t.Errorf("roots by operation (-want +got):\n%s", diff)
			}
		})
	}
}

// Spans that began before the processor was registered do no harm to the others.
func TestRootsRegisteredLate(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider()
	// Without a processor spans do not record; this one stands for others'.
	tp.RegisterSpanProcessor(sdktrace.NewSimpleSpanProcessor(&spantest.Exporter{}))
	spans, ops := tp.Tracer("service"), optrace.NewTracer(tp)
	early, earlySpan := spans.Start(t.Context(), "early")
	tp.RegisterSpanProcessor(proc)
	run(early, ops, "below early")
	late, lateSpan := spans.Start(remote(early), "late")
	run(late, ops, "below late")
	earlySpan.End()
	run(late, ops, "still below late")
	lateSpan.End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range spantest.ReadWhole(t, buf.Bytes()).Entries {
		got[e.Operation] = e.Root
	}
	want := map[string]string{"below early": "", "below late": "late", "still below late": "late"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roots by operation (-want +got):\n%s", diff)
	}
}

func TestRootStampingConcurrentSafe(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	spans, ops := tp.Tracer("service"), optrace.NewTracer(tp)
	shared, sharedSpan := spans.Start(t.Context(), "shared")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
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
	}
	wg.Wait()
	sharedSpan.End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := spantest.ReadWhole(t, buf.Bytes()).Entries
	for _, e := range entries {
		if e.Root != e.Operation || e.RootSpanID == (op.SpanID{}) {
			t.Errorf("operation %q has the root %q", e.Operation, e.Root)
		}
	}
	if len(entries) != 8*50 {
		t.Errorf("%d entries, want %d", len(entries), 8*50)
	}
}
