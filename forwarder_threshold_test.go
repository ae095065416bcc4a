package optrace_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// forward runs record with a provider whose spans go through a Processor with
// opts, and returns the names of the spans forwarded and the processor's stats.
func forward(
	t *testing.T, record func(trace.Tracer, *optrace.Tracer), opts ...optrace.ForwarderOption,
) (*spantest.Exporter, optrace.Stats) {
	t.Helper()
	mem := &spantest.Exporter{}
	proc, err := optrace.NewForwarder(mem, opts...)
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	record(tp.Tracer("app"), optrace.NewTracer(tp))
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return mem, proc.Stats()
}

func TestForwardThreshold(t *testing.T) {
	start := time.Now()
	at := func(us int) time.Time { return start.Add(time.Duration(us) * time.Microsecond) }
	mem, stats := forward(t, func(app trace.Tracer, tr *optrace.Tracer) {
		ctx, request := app.Start(t.Context(), "request", trace.WithTimestamp(start))
		// Parents of operations, failed ones and long ones are forwarded.
		rec := func(name, device string, us int, err error) {
			_, o := tr.Start(ctx, name, device)
			o.Err(err).EndAt(time.Now().Add(time.Duration(us) * time.Microsecond))
		}
		for range 3 {
			rec("relu", "cuda:0", 1, nil)
		}
		rec("relu", "cuda:1", 1, nil)
		rec("add", "", 1, nil)
		rec("relu", "cuda:0", 1, errors.New("boom"))
		rec("matmul", "cuda:0", 2_000_000, nil)
		layer, o := tr.Start(ctx, "layer", "cuda:0")
		_, inner := tr.Start(layer, "inner", "cuda:0")
		inner.End()
		o.End()
		_, plain := app.Start(ctx, "tokenize")
		plain.End()
		request.End(trace.WithTimestamp(at(100)))
		_, late := tr.Start(ctx, "late", "cuda:0") // its root has ended: nobody could tell of it
		late.End()
	}, optrace.WithForwardThreshold(time.Second))
	if diff := cmp.Diff([]string{"relu", "matmul", "layer", "tokenize", "request", "late"}, mem.Names()); diff != "" {
		t.Errorf("forwarded (-want +got):\n%s", diff)
	}
	if stats.Skipped != 6 || stats.Written != 6 || stats.Recorded != 6 {
		t.Errorf("stats %+v, want 6 pruned and 6 written", stats)
	}
	type pruned struct {
		op, device string
		count      int64
	}
	var got []pruned
	for _, e := range mem.Stubs()[4].Events {
		if e.Name != op.EventPruned {
			t.Errorf("event %q", e.Name)
		}
		set := attribute.NewSet(e.Attributes...)
		name, _ := set.Value("tensor.op.name")
		device, _ := set.Value("tensor.device.id")
		count, _ := set.Value(op.KeyPrunedCount)
		sum, ok := set.Value(op.KeyPrunedDuration)
		if !ok || sum.AsInt64() <= 0 {
			t.Errorf("%s: duration %v", name.AsString(), sum.AsInt64())
		}
		got = append(got, pruned{name.AsString(), device.AsString(), count.AsInt64()})
	}
	want := []pruned{{"add", "", 1}, {"inner", "cuda:0", 1}, {"relu", "cuda:0", 3}, {"relu", "cuda:1", 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pruned{})); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// The operations of a Recorder are pruned like those of a Tracer.
func TestForwardThresholdRecorder(t *testing.T) {
	mem := &spantest.Exporter{}
	proc, err := optrace.NewForwarder(mem, optrace.WithForwardThreshold(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	ctx, request := tp.Tracer("app").Start(t.Context(), "request")
	rec := proc.Recorder(ctx)
	const ops = 100
	for range ops {
		rec.Begin("relu", "cuda:0").End()
	}
	rec.Begin("failed", "cuda:0").Err(errors.New("boom")).End()
	rec.Finish()
	request.End()
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := mem.Names(), []string{"failed", "request"}; !slices.Equal(got, want) {
		t.Fatalf("%v are forwarded, want %v", got, want)
	}
	events := mem.Stubs()[1].Events
	if len(events) != 1 || events[0].Name != op.EventPruned {
		t.Fatalf("the request has the events %v", events)
	}
	set := attribute.NewSet(events[0].Attributes...)
	if count, _ := set.Value(op.KeyPrunedCount); count.AsInt64() != ops {
		t.Errorf("%d operations are summed up, want %d", count.AsInt64(), ops)
	}
	if st := proc.Stats(); st.Recorded != 2 || st.Skipped != ops {
		t.Errorf("stats are %+v", st)
	}
}

func TestForwardSampling(t *testing.T) {
	const n = 2000
	mem, stats := forward(t, func(app trace.Tracer, tr *optrace.Tracer) {
		ctx, request := app.Start(t.Context(), "request")
		for range n {
			_, o := tr.Start(ctx, "relu", "cuda:0")
			o.End()
		}
		request.End()
	}, optrace.WithForwardThreshold(time.Hour), optrace.WithForwardSampling(0.25))
	forwarded := len(mem.Stubs()) - 1
	if forwarded < n/8 || forwarded > n/2 {
		t.Errorf("%d of %d operations forwarded at a ratio of 0.25", forwarded, n)
	}
	events := mem.Stubs()[len(mem.Stubs())-1].Events
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	set := attribute.NewSet(events[0].Attributes...)
	count, _ := set.Value(op.KeyPrunedCount)
	if got := int(count.AsInt64()) + forwarded; got != n || stats.Skipped != uint64(count.AsInt64()) {
		t.Errorf("%d pruned and %d forwarded are not %d; stats %+v", count.AsInt64(), forwarded, n, stats)
	}
}

func TestForwardManyOperations(t *testing.T) {
	mem, _ := forward(t, func(app trace.Tracer, tr *optrace.Tracer) {
		ctx, request := app.Start(t.Context(), "request")
		for i := range 1000 {
			_, o := tr.Start(ctx, "op", string(rune('a'+i)))
			o.End()
		}
		request.End()
	}, optrace.WithForwardThreshold(time.Hour))
	if len(mem.Stubs()) != 1 || len(mem.Stubs()[0].Events) > 129 {
		t.Errorf("%d spans, the root with %d events", len(mem.Stubs()), len(mem.Stubs()[0].Events))
	}
}

func TestForwardOptionErrors(t *testing.T) {
	for _, opt := range []optrace.ForwarderOption{
		optrace.WithForwardThreshold(-1), optrace.WithForwardSampling(2), optrace.WithForwardSampling(-0.1),
		optrace.WithBufferBytes(1), optrace.WithFlushInterval(0), optrace.WithExportTimeout(-1), optrace.WithPolicy(9),
	} {
		if _, err := optrace.NewForwarder(&spantest.Exporter{}, opt); err == nil {
			t.Errorf("no error for %T", opt)
		}
	}
}
