package optrace_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/tensorconv"
)

// leastBytes is the smallest bound that a processor takes.
const leastBytes = 64 << 10

var policies = []optrace.Policy{optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock}

// Producers that are faster than the writer: whatever the policy, each
// operation is written or told of in a gap record.
func TestPolicySlowWriter(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &spantest.SlowWriter{Pause: 10 * time.Millisecond}
				proc := newProcessor(t, newExporter(t, w), optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes))
				const producers, each = 3, 2000
				var wg sync.WaitGroup
				for range producers {
					wg.Go(func() {
						for i := range each {
							proc.OnEnd(spantest.Operation(i).Snapshot())
							if i%50 == 0 {
								time.Sleep(time.Millisecond)
							}
						}
					})
				}
				wg.Wait()
				if err := proc.Shutdown(context.Background()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				st := proc.Stats()
				checkBooks(t, "processor", st)
				rec := spantest.ReadWhole(t, w.Bytes())
				rec.CheckBatches(t, false)
				if st.Recorded != producers*each || uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped {
					t.Errorf("%d entries and a loss of %d with %+v", len(rec.Entries), rec.Lost(), st)
				}
				if lossless := policy == optrace.PolicyBlock; lossless != (st.Dropped == 0) {
					t.Errorf("%d operations are lost", st.Dropped)
				}
			})
		})
	}
}

// A writer that hangs: the application goes on unless it asked to block, and
// Shutdown ends when its context does.
func TestPolicyStuckWriter(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := spantest.NewStuckWriter()
				exp := newExporter(t, w)
				proc := newProcessor(t, exp, optrace.WithPolicy(policy), optrace.WithBufferBytes(leastBytes))
				const n = 3000
				ended := make(chan int)
				go func() {
					for i := range n {
						proc.OnEnd(spantest.Operation(i).Snapshot())
					}
					close(ended)
				}()
				synctest.Wait()
				select {
				case <-ended:
					if policy == optrace.PolicyBlock {
						t.Error("operations end although there is no room")
					}
				default:
					if policy != optrace.PolicyBlock {
						t.Error("the end of an operation blocks")
					}
				}
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
				<-ended // whoever waited for room goes on
				st := proc.Stats()
				checkBooks(t, "processor", st)
				checkBooks(t, "exporter", exp.Stats())
				if policy != optrace.PolicyBlock && st.Recorded != n {
					t.Errorf("%d of %d operations are counted", st.Recorded, n)
				}
				w.Release()
				synctest.Wait()
				checkBooks(t, "processor, at last", proc.Stats())
				if w.Writes() > 2 { // the one under way, and the last gaps
					t.Errorf("%d writes after Shutdown gave up", w.Writes())
				}
			})
		})
	}
}

// drop-oldest keeps the end of a run, drop-newest its beginning.
func TestPolicyWhatIsKept(t *testing.T) {
	for _, policy := range []optrace.Policy{optrace.PolicyDropNewest, optrace.PolicyDropOldest} {
		t.Run(policy.String(), func(t *testing.T) {
			w := spantest.NewStuckWriter()
			proc := newProcessor(t, newExporter(t, w), optrace.WithPolicy(policy),
				optrace.WithBufferBytes(leastBytes), optrace.WithFlushInterval(time.Hour))
			const n = 2000
			for i := range n {
				proc.OnEnd(spantest.Operation(i).Snapshot())
			}
			w.Release()
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			rec := spantest.ReadWhole(t, w.Bytes())
			kept := rec.Steps()
			first, last := slices.Min(kept), slices.Max(kept)
			if policy == optrace.PolicyDropNewest && first != 0 || policy == optrace.PolicyDropOldest && last != n-1 {
				t.Errorf("operations %d to %d of %d are kept", first, last, n)
			}
			if uint64(len(kept))+rec.Lost() != n {
				t.Errorf("%d entries and a loss of %d, want %d in all", len(kept), rec.Lost(), n)
			}
		})
	}
}

// A flush that ran out of time loses nothing for which there is room.
func TestForceFlushDeadlineLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		proc := newProcessor(t, newExporter(t, w), optrace.WithFlushInterval(time.Hour), optrace.WithExportTimeout(time.Second))
		for i := range 10 {
			proc.OnEnd(spantest.Operation(i).Snapshot())
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			if err := proc.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ForceFlush returns %v", err)
			}
			cancel()
		}
		w.Release()
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if n := len(spantest.ReadWhole(t, w.Bytes()).Entries); n != 10 {
			t.Errorf("%d entries, want 10: %+v", n, proc.Stats())
		}
	})
}

// The bound holds also for operations that are far larger than usual.
func TestMaxBytesHeld(t *testing.T) {
	tests := []struct {
		name    string
		bytes   int64 // the bound
		text    int   // how long the operations' names are
		slack   uint64
		threads int
	}{
		{name: "usual", bytes: 4 << 20, text: 6, slack: 2 << 20, threads: 4},
		{name: "large", bytes: 4 << 20, text: 200_000, slack: 4 << 20, threads: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := spantest.NewStuckWriter()
			proc := newProcessor(t, newExporter(t, w), optrace.WithBufferBytes(tt.bytes), optrace.WithFlushInterval(time.Hour))
			name := strings.Repeat("n", tt.text)
			before := heapInUse()
			var wg sync.WaitGroup
			for range tt.threads {
				wg.Go(func() {
					stub := spantest.Operation(0)
					stub.Attributes = append(stub.Attributes, tensorconv.OpName(name))
					span := stub.Snapshot()
					for range max(200, 30_000/(1+tt.text/100)) {
						proc.OnEnd(span)
					}
				})
			}
			wg.Wait()
			if held := heapInUse() - before; int64(held) > tt.bytes+int64(tt.slack) {
				t.Errorf("%d bytes are held with a bound of %d", held, tt.bytes)
			}
			w.Release()
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			st := proc.Stats()
			checkBooks(t, "processor", st)
			if st.Dropped == 0 || st.Written == 0 {
				t.Errorf("Stats are %+v, want some written and some dropped", st)
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Under a policy that drops, spans that are no operations are not counted as lost.
func TestDropCountsOperationsOnly(t *testing.T) {
	w := spantest.NewStuckWriter()
	proc := newProcessor(t, newExporter(t, w), optrace.WithBufferBytes(leastBytes), optrace.WithFlushInterval(time.Hour))
	const n = 2000
	var spans []sdktrace.ReadOnlySpan
	for i := range n {
		request := spantest.Request()
		request.SpanContext = spantest.SpanContext(0, n+i)
		spans = append(spans, spantest.Operation(i).Snapshot(), request.Snapshot())
	}
	for _, s := range spans {
		proc.OnEnd(s)
	}
	w.Release()
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := proc.Stats()
	checkBooks(t, "processor", st)
	if st.Recorded != n || st.Skipped != n {
		t.Errorf("Stats are %+v, want %d recorded and as many skipped", st, n)
	}
}
