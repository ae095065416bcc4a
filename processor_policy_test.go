package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

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

// hostileError panics when it is asked for its text.
type hostileError struct{}

func (hostileError) Error() string { panic("hostile error") }

// pointerError panics when it is nil.
type pointerError struct{ text string }

func (e *pointerError) Error() string { return e.text }

// An error that panics costs nothing but its text.
func TestW7ErrorsThatPanic(t *testing.T) {
	for name, err := range map[string]error{"hostile": hostileError{}, "typed nil": (*pointerError)(nil)} {
		t.Run(name, func(t *testing.T) {
			var out spantest.Buffer
			proc := newProcessor(t, newExporter(t, &out))
			tracer := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc)))
			for _, rec := range []*optrace.Recorder{proc.Recorder(t.Context()), tracer.Recorder(t.Context())} {
				for i := range 100 {
					rec.Begin("matmul", "cuda:0")
					if i == 50 {
						rec.Err(err)
					}
				}
				rec.Finish()
			}
			_, o := tracer.Start(t.Context(), "matmul", "")
			o.Err(err).End()
			matmul, prepareErr := tracer.Prepare(optrace.OpSpec{Name: "matmul"})
			if prepareErr != nil {
				t.Fatal(prepareErr)
			}
			_, prepared := matmul.Start(t.Context())
			prepared.Err(err).End()
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			rec := spantest.ReadWhole(t, out.Bytes())
			failed := 0
			for _, e := range rec.Entries {
				if e.Failed {
					failed++
				}
			}
			if st := proc.Stats(); st.Written != 202 || len(rec.Entries) != 202 || failed != 4 {
				t.Errorf("stats %+v, %d entries, of which %d failed", st, len(rec.Entries), failed)
			}
		})
	}
}

// A filter that panics leaves nothing out.
func TestW7FilterThatPanics(t *testing.T) {
	var out spantest.Buffer
	calls := 0
	proc := newProcessor(t, newExporter(t, &out), optrace.WithFilter(func(sdktrace.ReadOnlySpan) bool {
		if calls++; calls%2 == 0 {
			panic("filter")
		}
		return true
	}))
	for i := range 10 {
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	rec := proc.Recorder(t.Context())
	for range 90 {
		rec.Begin("matmul", "cuda:0")
	}
	rec.Finish()
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := proc.Stats(); st.Recorded != 100 || st.Written != 100 || len(spantest.ReadWhole(t, out.Bytes()).Entries) != 100 {
		t.Errorf("stats %+v", st)
	}
}

// panickingProcessor panics at the end of some spans.
type panickingProcessor struct {
	sdktrace.SpanProcessor
	at func(sdktrace.ReadOnlySpan) bool
}

func (panickingProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (p panickingProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.at(s) {
		panic("processor")
	}
}

// A processor of the application that panics costs the operation at which it does,
// no other, and nothing is emitted twice.
func TestW7FinishWithAPanickingProcessor(t *testing.T) {
	ended := 0
	spans := &spantest.Exporter{}
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(panickingProcessor{at: func(sdktrace.ReadOnlySpan) bool {
			ended++
			return ended == 50
		}}),
		sdktrace.WithSyncer(spans))
	rec := optrace.NewTracer(tp).Recorder(t.Context())
	for range 2 {
		for range 100 {
			rec.Begin("matmul", "cuda:0")
		}
		rec.Finish()
	}
	if n := len(spans.Names()); n != 199 || ended != 200 {
		t.Errorf("%d spans are exported and %d have ended, want 199 and 200", n, ended)
	}
}

// hostileContextSpan is a span of the application that panics.
type hostileContextSpan struct{ trace.Span }

func (hostileContextSpan) SpanContext() trace.SpanContext { panic("hostile span") }

// What is lost before the pipeline has it is counted, in the file as well.
func TestW7LossBeforeThePipelineIsCounted(t *testing.T) {
	var out spantest.Buffer
	proc := newProcessor(t, newExporter(t, &out))
	rec := proc.Recorder(trace.ContextWithSpan(t.Context(), hostileContextSpan{}))
	for range 10 {
		rec.Begin("matmul", "cuda:0")
	}
	rec.Finish()
	proc.OnEnd(hostileStart{spantest.Operation(1).Snapshot()})
	proc.OnEnd(spantest.Operation(2).Snapshot())
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := proc.Stats(); st.Recorded != 12 || st.Dropped != 11 || st.Written != 1 {
		t.Errorf("stats %+v", st)
	}
	if lost := spantest.ReadWhole(t, out.Bytes()).Lost(); lost != 11 {
		t.Errorf("gap records tell of %d, want 11", lost)
	}
}

// hostileStart panics before anything is known about it.
type hostileStart struct{ sdktrace.ReadOnlySpan }

func (hostileStart) SpanContext() trace.SpanContext { panic("hostile span") }

// The Exporter ends with the last of the processors in front of it.
func TestW9TwoProcessorsInFrontOfOneExporter(t *testing.T) {
	var out spantest.Buffer
	exp := newExporter(t, &out)
	first, second := newProcessor(t, exp), newProcessor(t, exp)
	for i := range 100 {
		first.OnEnd(spantest.Operation(i).Snapshot())
		second.OnEnd(spantest.Operation(100 + i).Snapshot())
	}
	for _, proc := range []*optrace.Processor{first, second} {
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if st := proc.Stats(); st.Written != 100 {
			t.Errorf("stats %+v", st)
		}
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); !errors.Is(err, optrace.ErrExporterShutdown) {
		t.Errorf("after both have ended the exporter says %v", err)
	}
	got := spantest.ReadWhole(t, bytes.Clone(out.Bytes())).Steps()
	slices.Sort(got)
	if diff := cmp.Diff(spantest.UpTo(200), got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
