package optrace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/spantest"
)

// A foreign exporter gets all spans, in their order, in batches that it can take.
func TestQueueBatches(t *testing.T) {
	exp := &spantest.Exporter{}
	proc := newForwarder(t, exp, optrace.WithFlushInterval(time.Hour))
	const n = 2000
	for i := range n {
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	proc.OnEnd(spantest.Request().Snapshot())
	if err := proc.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exp.Len() != n+1 {
		t.Errorf("%d spans after ForceFlush, want %d", exp.Len(), n+1)
	}
	for i, size := range exp.Batches() {
		if size == 0 || size > 512 {
			t.Errorf("batch %d has %d spans", i, size)
		}
	}
	for i, s := range exp.Spans()[:n] {
		if want := spantest.SpanID(i); s.SpanContext().SpanID() != want {
			t.Fatalf("span %d is %v, want %v", i, s.SpanContext().SpanID(), want)
		}
	}
	if err := errors.Join(proc.Shutdown(t.Context()), proc.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if exp.Shutdowns() != 1 {
		t.Errorf("the exporter was shut down %d times", exp.Shutdowns())
	}
	if st := proc.Stats(); st != (optrace.Stats{Recorded: n + 1, Written: n + 1}) {
		t.Errorf("Stats are %+v", st)
	}
	proc.OnEnd(spantest.Operation(0).Snapshot())
	if st := proc.Stats(); st.Recorded != n+1 {
		t.Errorf("an operation that ended after Shutdown is counted: %+v", st)
	}
}

func TestQueueFlushInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exp := &spantest.Exporter{}
		proc := newForwarder(t, exp, optrace.WithFlushInterval(time.Second))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if exp.Len() != 0 {
			t.Error("a span was exported before the interval was over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if exp.Len() != 1 {
			t.Error("no span was exported when the interval was over")
		}
		for i := range 512 { // a whole batch does not wait
			proc.OnEnd(spantest.Operation(i).Snapshot())
		}
		synctest.Wait()
		if exp.Len() != 513 {
			t.Errorf("%d spans are exported, want 513", exp.Len())
		}
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A small queue is emptied before it is full, not when the interval is over.
func TestQueueSmallBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exp := &spantest.Exporter{}
		proc := newForwarder(t, exp, optrace.WithBufferBytes(leastBytes), optrace.WithFlushInterval(time.Hour))
		const n = 1000
		for i := range n {
			proc.OnEnd(spantest.Operation(i).Snapshot())
			synctest.Wait()
		}
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if st := proc.Stats(); st.Written != n {
			t.Errorf("an exporter that keeps up got %d of %d: %+v", st.Written, n, st)
		}
	})
}

// An exporter that does not keep up, or hangs, or fails: the counts are exact.
func TestQueuePolicies(t *testing.T) {
	exports := map[string]func(context.Context) error{
		"slow":   func(context.Context) error { time.Sleep(50 * time.Millisecond); return nil },
		"fails":  func(context.Context) error { return errDisk },
		"panics": func(context.Context) error { panic("exporter") },
		"waits for its context": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}
	for name, export := range exports {
		for _, policy := range policies {
			t.Run(fmt.Sprint(name, " ", policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					exp := &spantest.Exporter{OnExport: export}
					proc := newForwarder(t, exp, optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes),
						optrace.WithExportTimeout(time.Second))
					const producers, each = 3, 500
					var wg sync.WaitGroup
					for range producers {
						wg.Go(func() {
							for i := range each {
								proc.OnEnd(spantest.Operation(i).Snapshot())
							}
						})
					}
					wg.Wait()
					// What failed before was reported to OpenTelemetry's error handler.
					if err := proc.Shutdown(context.Background()); err != nil && name == "slow" {
						t.Errorf("Shutdown: %v", err)
					}
					st := proc.Stats()
					checkBooks(t, "processor", st)
					if st.Recorded != producers*each || st.Written != uint64(exp.Len()) {
						t.Errorf("the exporter has %d spans with %+v", exp.Len(), st)
					}
					if name == "slow" && policy == optrace.PolicyBlock && st.Dropped != 0 {
						t.Errorf("%d spans are lost although the exporter makes progress", st.Dropped)
					}
				})
			})
		}
	}
}

func TestQueueStuckExporter(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				exp := &spantest.Exporter{
					OnExport:   func(context.Context) error { <-release; return nil },
					OnShutdown: func(context.Context) error { <-release; return nil },
				}
				proc := newForwarder(t, exp, optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for i := range 3000 {
						proc.OnEnd(spantest.Operation(i).Snapshot())
					}
				}()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if err := proc.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ForceFlush returns %v", err)
				}
				ctx, cancel = context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				start := time.Now()
				if err := proc.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Shutdown returns %v", err)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("Shutdown took %v with a deadline of 1s", took)
				}
				<-ended
				checkBooks(t, "processor", proc.Stats())
				close(release)
				synctest.Wait()
				st := proc.Stats()
				checkBooks(t, "processor, at last", st)
				if st.Written != uint64(exp.Len()) {
					t.Errorf("the exporter has %d spans with %+v", exp.Len(), st)
				}
			})
		})
	}
}

// Spans given up for newer ones leave nothing behind.
func TestQueueDropOldestMemory(t *testing.T) {
	release := make(chan struct{})
	exp := &spantest.Exporter{OnExport: func(context.Context) error { <-release; return nil }}
	proc := newForwarder(t, exp, optrace.WithPolicy(optrace.PolicyDropOldest), optrace.WithBufferBytes(leastBytes))
	span := spantest.Operation(0).Snapshot()
	before := heapInUse()
	for range 500_000 {
		proc.OnEnd(span)
	}
	if held := int64(heapInUse()) - int64(before); held > 4<<20 {
		t.Errorf("%d bytes are held with a bound of %d", held, leastBytes)
	}
	close(release)
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	checkBooks(t, "processor", proc.Stats())
}

func TestQueueExporterPanicsInShutdown(t *testing.T) {
	exp := &spantest.Exporter{OnShutdown: func(context.Context) error { panic("exporter") }}
	proc := newForwarder(t, exp)
	if err := proc.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown reports no error")
	}
}

func TestQueueFilterAndRecordOnly(t *testing.T) {
	exp := &spantest.Exporter{}
	proc := newForwarder(t, exp, optrace.WithRecordOnly(), optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool {
		for _, kv := range s.Attributes() {
			if kv.Key == attribute.Key(attrkey.Name) {
				return true
			}
		}
		return false
	}))
	unsampled := spantest.Operation(1)
	unsampled.SpanContext = unsampled.SpanContext.WithTraceFlags(0)
	for _, s := range []sdktrace.ReadOnlySpan{spantest.Operation(0).Snapshot(), unsampled.Snapshot(), spantest.Request().Snapshot()} {
		proc.OnEnd(s)
	}
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := proc.Stats(); st != (optrace.Stats{Recorded: 2, Written: 2, Skipped: 1}) {
		t.Errorf("Stats are %+v", st)
	}
}

func TestQueueConcurrentSafe(t *testing.T) {
	exp := &spantest.Exporter{}
	proc := newForwarder(t, exp, optrace.WithFlushInterval(time.Millisecond))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	const producers, each = 6, 200
	var producing, wg sync.WaitGroup
	for range producers {
		producing.Go(func() { record(context.Background(), tp, each) })
		wg.Go(func() {
			for range 20 {
				if err := proc.ForceFlush(context.Background()); err != nil {
					t.Errorf("ForceFlush: %v", err)
				}
				_ = proc.Stats()
			}
		})
	}
	producing.Wait()
	for range 3 {
		wg.Go(func() {
			if err := proc.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
	wg.Wait()
	_ = tp.Shutdown(context.Background())
	if st := proc.Stats(); st != (optrace.Stats{Recorded: producers * each, Written: producers * each}) {
		t.Errorf("Stats are %+v", st)
	}
	if exp.Len() != producers*each || exp.Shutdowns() != 1 {
		t.Errorf("the exporter has %d spans and was shut down %d times", exp.Len(), exp.Shutdowns())
	}
}

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
		if e.Name != attrkey.PrunedEvent {
			t.Errorf("event %q", e.Name)
		}
		set := attribute.NewSet(e.Attributes...)
		name, _ := set.Value("tensor.op.name")
		device, _ := set.Value("tensor.device.id")
		count, _ := set.Value(attrkey.PrunedCount)
		sum, ok := set.Value(attrkey.PrunedDuration)
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
	if len(events) != 1 || events[0].Name != attrkey.PrunedEvent {
		t.Fatalf("the request has the events %v", events)
	}
	set := attribute.NewSet(events[0].Attributes...)
	if count, _ := set.Value(attrkey.PrunedCount); count.AsInt64() != ops {
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
	count, _ := set.Value(attrkey.PrunedCount)
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
