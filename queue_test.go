package optrace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// foreignExporter is any other exporter: it keeps what it was given.
type foreignExporter struct {
	mu       sync.Mutex
	batches  []int
	spans    []sdktrace.ReadOnlySpan
	shutdown int

	export     func(ctx context.Context) error // nil succeeds
	onShutdown func(ctx context.Context) error // nil succeeds
}

func (e *foreignExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.export != nil {
		if err := e.export(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batches = append(e.batches, len(spans))
	e.spans = append(e.spans, spans...)
	return nil
}

func (e *foreignExporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.shutdown++
	e.mu.Unlock()
	if e.onShutdown != nil {
		return e.onShutdown(ctx)
	}
	return nil
}

func (e *foreignExporter) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.spans)
}

// A foreign exporter gets all spans, in their order, in batches that it can take.
func TestQueueBatches(t *testing.T) {
	exp := &foreignExporter{}
	proc := newForwarder(t, exp, optrace.WithFlushInterval(time.Hour))
	const n = 2000
	for i := range n {
		proc.OnEnd(opStub(i).Snapshot())
	}
	proc.OnEnd(requestStub().Snapshot())
	if err := proc.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exp.count() != n+1 {
		t.Errorf("%d spans after ForceFlush, want %d", exp.count(), n+1)
	}
	for i, size := range exp.batches {
		if size == 0 || size > 512 {
			t.Errorf("batch %d has %d spans", i, size)
		}
	}
	for i, s := range exp.spans[:n] {
		if want := spanID(i); s.SpanContext().SpanID() != want {
			t.Fatalf("span %d is %v, want %v", i, s.SpanContext().SpanID(), want)
		}
	}
	if err := errors.Join(proc.Shutdown(t.Context()), proc.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if exp.shutdown != 1 {
		t.Errorf("the exporter was shut down %d times", exp.shutdown)
	}
	if st := proc.Stats(); st != (optrace.Stats{Recorded: n + 1, Written: n + 1}) {
		t.Errorf("Stats are %+v", st)
	}
	proc.OnEnd(opStub(0).Snapshot())
	if st := proc.Stats(); st.Recorded != n+1 {
		t.Errorf("an operation that ended after Shutdown is in the books: %+v", st)
	}
}

func TestQueueFlushInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exp := &foreignExporter{}
		proc := newForwarder(t, exp, optrace.WithFlushInterval(time.Second))
		proc.OnEnd(opStub(0).Snapshot())
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		if exp.count() != 0 {
			t.Error("a span was exported before the interval was over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if exp.count() != 1 {
			t.Error("no span was exported when the interval was over")
		}
		for i := range 512 { // a whole batch does not wait
			proc.OnEnd(opStub(i).Snapshot())
		}
		synctest.Wait()
		if exp.count() != 513 {
			t.Errorf("%d spans are exported, want 513", exp.count())
		}
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A small queue is emptied before it is full, not when the interval is over.
func TestQueueSmallBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exp := &foreignExporter{}
		proc := newForwarder(t, exp, optrace.WithBufferBytes(leastBytes), optrace.WithFlushInterval(time.Hour))
		const n = 1000
		for i := range n {
			proc.OnEnd(opStub(i).Snapshot())
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

// An exporter that does not keep up, or hangs, or fails: the books are exact.
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
					exp := &foreignExporter{export: export}
					proc := newForwarder(t, exp, optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes),
						optrace.WithExportTimeout(time.Second))
					const producers, each = 3, 500
					var wg sync.WaitGroup
					for range producers {
						wg.Go(func() {
							for i := range each {
								proc.OnEnd(opStub(i).Snapshot())
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
					if st.Recorded != producers*each || st.Written != uint64(exp.count()) {
						t.Errorf("the exporter has %d spans with %+v", exp.count(), st)
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
				exp := &foreignExporter{
					export:     func(context.Context) error { <-release; return nil },
					onShutdown: func(context.Context) error { <-release; return nil },
				}
				proc := newForwarder(t, exp, optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for i := range 3000 {
						proc.OnEnd(opStub(i).Snapshot())
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
				if st.Written != uint64(exp.count()) {
					t.Errorf("the exporter has %d spans with %+v", exp.count(), st)
				}
			})
		})
	}
}

// Spans given up for newer ones leave nothing behind.
func TestQueueDropOldestMemory(t *testing.T) {
	release := make(chan struct{})
	exp := &foreignExporter{export: func(context.Context) error { <-release; return nil }}
	proc := newForwarder(t, exp, optrace.WithPolicy(optrace.PolicyDropOldest), optrace.WithBufferBytes(leastBytes))
	span := opStub(0).Snapshot()
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
	exp := &foreignExporter{onShutdown: func(context.Context) error { panic("exporter") }}
	proc := newForwarder(t, exp)
	if err := proc.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown reports no error")
	}
}

func TestQueueFilterAndRecordOnly(t *testing.T) {
	exp := &foreignExporter{}
	proc := newForwarder(t, exp, optrace.WithRecordOnly(), optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool {
		for _, kv := range s.Attributes() {
			if kv.Key == attribute.Key(op.KeyName) {
				return true
			}
		}
		return false
	}))
	unsampled := opStub(1)
	unsampled.SpanContext = unsampled.SpanContext.WithTraceFlags(0)
	for _, s := range []sdktrace.ReadOnlySpan{opStub(0).Snapshot(), unsampled.Snapshot(), requestStub().Snapshot()} {
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
	exp := &foreignExporter{}
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
	if exp.count() != producers*each || exp.shutdown != 1 {
		t.Errorf("the exporter has %d spans and was shut down %d times", exp.count(), exp.shutdown)
	}
}
