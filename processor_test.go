package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/tensorconv"
)

// record makes n operations with the steps 0 to n-1 below ctx.
func record(ctx context.Context, tp trace.TracerProvider, n int) {
	tracer := optrace.NewTracer(tp)
	for i := range n {
		_, o := tracer.Start(optrace.ContextWithStep(ctx, int64(i)), "matmul", "cuda:0")
		o.In(64, 784).In(784, 256).Out(64, 256).End()
	}
}

func TestProcessorWithoutExporter(t *testing.T) {
	if p, err := optrace.NewProcessor(nil); p != nil || err == nil {
		t.Errorf("NewProcessor(nil) returns %v, %v", p, err)
	}
	for name, next := range map[string]sdktrace.SpanExporter{
		"nil": nil, "nil pointer": (*spantest.Exporter)(nil), "nil Exporter": (*optrace.Exporter)(nil),
		"Exporter": newExporter(t, io.Discard),
	} {
		if p, err := optrace.NewForwarder(next); p != nil || err == nil {
			t.Errorf("%s: NewForwarder returns %v, %v", name, p, err)
		}
	}
	for _, w := range []io.Writer{nil, (*bytes.Buffer)(nil)} {
		if e, err := optrace.NewExporter(w); e != nil || err == nil {
			t.Errorf("%T: NewExporter returns %v, %v", w, e, err)
		}
	}
}

// A recording of all operations has no adjusted counts, for any trace state. A recording of sampled operations has.
// Other processors see the trace state.
func TestRecordOnlyHasNoWeights(t *testing.T) {
	state := check.Must(trace.ParseTraceState("ot=rv:0123456789abcd;th:8,x=y"))(t)
	parent := trace.ContextWithSpanContext(t.Context(), spantest.SpanContext(0, 1).WithTraceState(state))
	for _, format := range allFormats {
		var all, sampled spantest.Buffer
		everything := newProcessor(t, newExporter(t, &all, optrace.WithFormat(format)), optrace.WithRecordOnly())
		usual := newProcessor(t, newExporter(t, &sampled, optrace.WithFormat(format)))
		exported := tracetest.NewInMemoryExporter()
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(everything), sdktrace.WithSpanProcessor(usual),
			sdktrace.WithSyncer(exported))
		_, s := tp.Tracer("t").Start(parent, "matmul", trace.WithAttributes(tensorconv.OpName("matmul")),
			trace.WithLinks(
				trace.Link{SpanContext: spantest.SpanContext(0, 1)}, // a link to its parent, which the encoder removes
			))
		s.End()
		for _, p := range []*optrace.Processor{everything, usual} {
			rec := p.Recorder(parent)
			rec.Begin("relu", "")
			rec.Finish()
		}
		check.Equal(t, "another exporter sees", state.String(),
			exported.GetSpans()[0].SpanContext.TraceState().String())
		shutdown(t, tp)
		var weights []float64
		for _, e := range spantest.ReadWhole(t, slices.Concat(all.Bytes(), sampled.Bytes())).Entries {
			weights = append(weights, e.AdjustedCount)
		}
		check.Equal(t, fmt.Sprintf("%v: the weights of all, and of the sampled ones", format), []float64{0, 0, 2, 2},
			weights)
	}
}

// If the sampler drops operations, the others keep their weights, and the file names the sampler in one resource.
func TestRecordOnlyBehindASampler(t *testing.T) {
	state := check.Must(trace.ParseTraceState("ot=th:8"))(t)
	parent := trace.ContextWithSpanContext(t.Context(), spantest.SpanContext(0, 1).WithTraceState(state))
	spantest.Errors(t)
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf), optrace.WithRecordOnly())
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5))),
		sdktrace.WithSpanProcessor(proc))
	run(parent, optrace.NewTracer(tp), "matmul")
	rec := proc.Recorder(parent)
	rec.Begin("relu", "")
	rec.Finish()
	shutdown(t, tp)
	for _, e := range spantest.ReadWhole(t, buf.Bytes()).Entries {
		check.Equal(t, e.Operation, 2.0, e.AdjustedCount)
	}
	for what, want := range map[string]int{`"step":`: 2, `"schema":`: 1, "optrace.sampler": 1} {
		check.Equal(t, what, want, bytes.Count(buf.Bytes(), []byte(what)))
	}
}

func TestObservability(t *testing.T) {
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "True")
	read := spantest.Metrics(t, instrumentation.Scope{Name: optrace.ScopeName, Version: optrace.Version})
	fail := false
	var buf bytes.Buffer
	exp := check.Must(optrace.NewExporter(spantest.WriterFunc(func(p []byte) (int, error) {
		if fail {
			return 0, errors.New("disk full")
		}
		return buf.Write(p)
	})))(t)
	proc := newProcessor(t, exp, optrace.WithFlushInterval(time.Hour))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	record(t.Context(), tp, 3)
	flush(t, tp)
	fail = true
	record(t.Context(), tp, 2)
	check.Says(t, "a flush to a full disk is no error", "", tp.ForceFlush(t.Context()))
	fail = false
	record(t.Context(), tp, 1) // in the buffer
	want := map[string]float64{
		"otel.sdk.exporter.span.inflight":              0,
		"otel.sdk.exporter.span.exported":              3,
		"otel.sdk.exporter.span.exported write_failed": 2,
		"otel.sdk.processor.span.queue.size":           1,
		"otel.sdk.processor.span.processed":            5, // whatever came of the export
		"otel.sdk.processor.span.processed queue_full": 0,
		"optrace.processor.span.forgotten":             0,
		"optrace.processor.operation.unsummed":         0,
		"optrace.processor.parent.lost":                0,
	}
	got, _ := read()
	maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.Contains(name, "duration") })
	check.Equal(t, "metrics", want, got)
	shutdown(t, tp)
	check.Is(t, "export after shutdown", optrace.ErrExporterShutdown,
		exp.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 4)))
	got, _ = read()
	check.Equal(t, "spans refused after shutdown", 4, got["otel.sdk.exporter.span.exported already_shutdown"])
	if _, ok := got["otel.sdk.processor.span.queue.size"]; ok {
		t.Error("a processor is observed after its shutdown")
	}
}

// leastBytes is the smallest bound.
const leastBytes = 64 << 10

var policies = []optrace.Policy{optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock}

// The bound also holds for unusually large operations.
func TestMaxBytesHeld(t *testing.T) {
	const bound, threads = 4 << 20, 4
	for _, length := range []int{6, 200_000} { // bytes of the names
		w := spantest.NewStuckWriter()
		proc := newProcessor(t, newExporter(t, w), optrace.WithMaxBytes(bound), optrace.WithFlushInterval(time.Hour))
		stub := spantest.Operation(0)
		stub.Attributes = append(stub.Attributes, tensorconv.OpName(strings.Repeat("n", length)))
		span := stub.Snapshot()
		before := check.Heap()
		atOnce(threads, func(int) {
			for range max(200, 30_000/(1+length/100)) {
				proc.OnEnd(span)
			}
		})
		if held, most := check.Heap()-before, int64(bound+2<<20+10*length); held > most {
			t.Errorf("%d bytes are held, want %d at most", held, most)
		}
		w.Release()
		shutdown(t, proc)
		st := proc.Stats()
		checkBooks(t, "processor", st)
		if st.Dropped == 0 || st.Written == 0 {
			t.Errorf("Stats are %+v, want some written and some dropped", st)
		}
	}
}

// An error with a panicking Error method loses its text only.
func TestErrorsThatPanic(t *testing.T) {
	for name, err := range map[string]error{"nothing in it": struct{ error }{}, "typed nil": (*os.PathError)(nil)} {
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
			_, prepared := prepare(t, tracer, optrace.OpSpec{Name: "matmul"}).Start(t.Context())
			prepared.Err(err).End()
			shutdown(t, proc)
			rec := spantest.ReadWhole(t, out.Bytes())
			failed := 0
			for _, e := range rec.Entries {
				if e.Failed {
					failed++
				}
			}
			check.Equal(t, "written, entries and failures", [3]int{202, 202, 4},
				[3]int{int(proc.Stats().Written), len(rec.Entries), failed})
		})
	}
}

// panickingProcessor panics at the end of the 50th span.
type panickingProcessor struct {
	noopProcessor
	ended int
}

func (p *panickingProcessor) OnEnd(sdktrace.ReadOnlySpan) {
	if p.ended++; p.ended == 50 {
		panic("processor")
	}
}

// A panicking processor of the application loses one operation, and no operation is emitted twice.
func TestFinishWithAPanickingProcessor(t *testing.T) {
	spans := &spantest.Exporter{}
	panicking := &panickingProcessor{}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(panicking), sdktrace.WithSyncer(spans))
	rec := optrace.NewTracer(tp).Recorder(t.Context())
	for range 2 {
		for range 100 {
			rec.Begin("matmul", "cuda:0")
		}
		rec.Finish()
	}
	check.Equal(t, "spans that are exported, and that have ended", [2]int{199, 200},
		[2]int{len(spans.Names()), panicking.ended})
}

// Losses before the pipeline are counted, in the file too.
func TestLossBeforeThePipelineIsCounted(t *testing.T) {
	var out spantest.Buffer
	proc := newProcessor(t, newExporter(t, &out))
	rec := proc.Recorder(trace.ContextWithSpan(t.Context(), struct{ trace.Span }{})) // its methods panic
	for range 10 {
		rec.Begin("matmul", "cuda:0")
	}
	rec.Finish()
	proc.OnEnd(struct{ sdktrace.ReadOnlySpan }{})
	proc.OnEnd(spantest.Operation(2).Snapshot())
	shutdown(t, proc)
	check.Equal(t, "stats", optrace.Stats{Recorded: 12, Dropped: 11, Written: 1}, proc.Stats())
	check.Equal(t, "gap records tell", 11, spantest.ReadWhole(t, out.Bytes()).Lost())
}

// The last processor in front of an exporter shuts it down.
func TestTwoProcessorsInFrontOfOneExporter(t *testing.T) {
	var out spantest.Buffer
	exp := newExporter(t, &out)
	first := newProcessor(t, exp)
	second := newProcessor(t, exp)
	for i := range 100 {
		first.OnEnd(spantest.Operation(i).Snapshot())
		second.OnEnd(spantest.Operation(100 + i).Snapshot())
	}
	for _, proc := range []*optrace.Processor{first, second} {
		shutdown(t, proc)
		check.Equal(t, "written", 100, proc.Stats().Written)
	}
	check.Is(t, "after both have ended the exporter says", optrace.ErrExporterShutdown,
		exp.ExportSpans(t.Context(), spantest.Operations(1)))
	got := spantest.ReadWhole(t, bytes.Clone(out.Bytes())).Steps()
	slices.Sort(got)
	check.Equal(t, "entries", spantest.UpTo(200), got)
}

// Invalid options and exporters are errors of each constructor. Nil options are ignored.
func TestNewProcessorOptions(t *testing.T) {
	end := func(p interface{ Shutdown(context.Context) error }, err error) error {
		if err == nil {
			shutdown(t, p)
		}
		return err
	}
	processor := func(o optrace.ProcessorOption) error {
		p, err := optrace.NewProcessor(newExporter(t, io.Discard), nil, o)
		return end(p, err)
	}
	forwarder := func(o optrace.ProcessorOption) error {
		p, err := optrace.NewForwarder(&spantest.Exporter{}, nil, o)
		return end(p, err)
	}
	flight := func(n int, o optrace.ProcessorOption) error {
		f, err := optrace.NewFlightRecorder(newExporter(t, io.Discard), n, nil, o)
		return end(f, err)
	}
	for name, tt := range map[string]struct {
		err  error
		want string // "" for no error
	}{
		"processor: none":        {processor(nil), ""},
		"processor: policy":      {processor(optrace.WithPolicy(optrace.PolicyBlock + 1)), "unknown policy"},
		"processor: bytes":       {processor(optrace.WithMaxBytes(64<<10 - 1)), "below 65536"},
		"processor: least bytes": {processor(optrace.WithMaxBytes(64 << 10)), ""},
		"processor: interval":    {processor(optrace.WithFlushInterval(0)), "flush interval"},
		"processor: timeout":     {processor(optrace.WithExportTimeout(-1)), "export timeout"},
		"processor: nil filter":  {processor(optrace.WithFilter(nil)), ""},
		"forwarder: none":        {forwarder(nil), ""},
		"forwarder: threshold":   {forwarder(optrace.WithForwardThreshold(-1)), "threshold -1ns is negative"},
		"forwarder: sampling":    {forwarder(optrace.WithForwardSampling(2)), "ratio 2 is not between"},
		"forwarder: negative":    {forwarder(optrace.WithForwardSampling(-0.1)), "ratio -0.1 is not between"},
		"forwarder: bytes":       {forwarder(optrace.WithMaxBytes(1)), "below 65536"},
		"processor: forwarding": {processor(optrace.WithForwardThreshold(1)),
			"WithForwardThreshold is not for a processor"},
		"processor: dump":       {processor(optrace.WithDumpOnError()), "WithDumpOnError is not for a processor"},
		"forwarder: cache":      {forwarder(optrace.WithCacheBytes(1)), "WithCacheBytes is not for a forwarder"},
		"flight recorder: none": {flight(1, nil), ""},
		"flight recorder: queue": {flight(1, optrace.WithPolicy(optrace.PolicyBlock)),
			"WithPolicy is not for a flight recorder"},
		"flight recorder: size":  {flight(0, nil), "size 0 is not positive"},
		"flight recorder: cache": {flight(1, optrace.WithCacheBytes(-1)), "cache size -1 is negative"},
		"flight recorder: slow":  {flight(1, optrace.WithDumpOnSlow(-1)), "-1ns of slow local roots is negative"},
	} {
		if (tt.err == nil) != (tt.want == "") || tt.err != nil && !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %q", name, tt.err, tt.want)
		}
	}
	lines := newExporter(t, io.Discard, optrace.WithFormat(optrace.FormatOTLPJSON))
	f, err := optrace.NewFlightRecorder(lines, 1)
	if f != nil || err == nil || !strings.Contains(err.Error(), "the format is otlp-json, not entries") {
		t.Errorf("a flight recorder in front of lines: %v, %v", f, err)
	}
	if f, err := optrace.NewFlightRecorder(nil, 1); f != nil || err == nil {
		t.Errorf("NewFlightRecorder(nil) returns %v, %v", f, err)
	}
}

// A flush that timed out and a Shutdown with a done context still write the buffers to a working writer. Later
// operations count as dropped, and the exporter has ended.
func TestProcessorShutdown(t *testing.T) {
	for name, ctx := range map[string]context.Context{"in time": context.Background(), "cancelled": cancelled()} {
		t.Run(name, func(t *testing.T) {
			var buf spantest.Buffer
			exp := newExporter(t, &buf)
			proc := newProcessor(t, exp, optrace.WithFlushInterval(time.Hour))
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
			record(t.Context(), tp, 5)
			check.Is(t, "ForceFlush", ctx.Err(), proc.ForceFlush(ctx))
			record(t.Context(), tp, 5)
			tr := optrace.NewTracer(tp)
			_, late := tr.Start(t.Context(), "late", "")
			rec := proc.Recorder(t.Context())
			q := newQueue(t, proc)
			rec.Begin("late", "")
			now := passedAt(time.Now().UnixNano())
			q.Launched(q.Begin(t.Context(), prepare(t, tr, matmulSpec())), now, now)
			check.Is(t, "Shutdown", ctx.Err(), proc.Shutdown(ctx))
			check.OK(t, errors.Join(proc.Shutdown(ctx), proc.ForceFlush(ctx))) // after Shutdown
			late.End()
			rec.Finish()
			flush(t, q)
			check.Equal(t, "entries", 10, len(spantest.ReadWhole(t, buf.Bytes()).Entries))
			check.Equal(t, "stats", optrace.Stats{Recorded: 13, Written: 10, Dropped: 3}, proc.Stats())
			check.Is(t, "the exporter behind", optrace.ErrExporterShutdown,
				exp.ExportSpans(t.Context(), spantest.Operations(1)))
			_ = tp.Shutdown(t.Context())
		})
	}
}

// A filter skips spans and operations of a Recorder for which it returns false. A panic keeps the span.
func TestFilterThatPanics(t *testing.T) {
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf), optrace.WithFilter(func(s sdktrace.ReadOnlySpan) bool {
		if s.Name() == "panic" {
			panic("filter")
		}
		return s.Name() != "relu"
	}))
	tracer := optrace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc)))
	rec := proc.Recorder(t.Context())
	for _, name := range []string{"matmul", "relu", "panic", "softmax"} {
		run(t.Context(), tracer, name)
		rec.Begin(name, "cpu")
	}
	rec.Finish()
	shutdown(t, proc)
	check.Equal(t, "entries", 6, len(spantest.ReadWhole(t, buf.Bytes()).Entries))
	check.Equal(t, "stats", optrace.Stats{Recorded: 6, Written: 6, Skipped: 2}, proc.Stats())
}

// Goroutines record, flush and shut down concurrently: every operation is counted once, and the exporter ends once.
func TestProcessorConcurrentSafe(t *testing.T) {
	const producers, each = 6, 300
	for _, policy := range policies {
		var out, dumps spantest.Buffer
		next := &spantest.Exporter{}
		opts := []optrace.ProcessorOption{optrace.WithPolicy(policy), optrace.WithFlushInterval(time.Millisecond)}
		flight := check.Must(optrace.NewFlightRecorder(newExporter(t, &dumps), 16,
			optrace.WithDumpOnSlow(time.Nanosecond)))(t)
		for name, proc := range map[string]interface {
			sdktrace.SpanProcessor
			Stats() optrace.Stats
			MarshalLog() any
		}{
			"processor": newProcessor(t, newExporter(t, &out), append(opts, optrace.WithMaxBytes(1<<20))...),
			"forwarder": newForwarder(t, next, opts...), "flight recorder": flight,
		} {
			flush := proc.ForceFlush
			if proc == flight {
				flush = flight.Dump
			}
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
			var producing, wg sync.WaitGroup
			for range producers {
				producing.Go(func() { record(context.Background(), tp, each) })
				wg.Go(func() {
					for range 20 {
						err := flush(context.Background())
						if err != nil && (policy == optrace.PolicyBlock ||
							!strings.Contains(err.Error(), "dropped since the last flush")) {
							t.Errorf("%v %s: a flush: %v", policy, name, err)
						}
						_ = proc.Stats()
						_ = proc.MarshalLog()
					}
				})
			}
			producing.Wait()
			for range 3 {
				wg.Go(func() { shutdown(t, proc) })
			}
			wg.Wait()
			_ = tp.Shutdown(context.Background())
			st := proc.Stats()
			kept := uint64(len(next.Spans()))
			lost := uint64(0)
			if name != "forwarder" {
				rec := spantest.ReadWhole(t,
					map[string]*spantest.Buffer{"processor": &out, "flight recorder": &dumps}[name].Bytes())
				rec.CheckBatches(t)
				kept = uint64(len(rec.Entries))
				lost = rec.Lost()
			}
			checkBooks(t, name, st)
			if st.Recorded != producers*each || st.Written != kept || st.Dropped != lost ||
				lost > 0 && name == "processor" && policy == optrace.PolicyBlock {
				t.Errorf("%v %s: %d operations and a loss of %d with %+v", policy, name, kept, lost, st)
			}
		}
		check.Equal(t, "the exporter was shut down: times", 1, next.Shutdowns())
	}
}

// Without a deadline Shutdown ends in the stated time if the writer or the exporter of a forwarder hangs, and counts
// the unwritten operations.
func TestShutdownOfAHungWriter(t *testing.T) {
	const timeout = 200 * time.Millisecond
	type ending interface {
		Shutdown(context.Context) error
		Stats() optrace.Stats
	}
	end := func(proc *optrace.Processor, spans int) ending {
		go func() {
			for i := range spans {
				proc.OnEnd(spantest.Operation(i).Snapshot())
			}
		}()
		return proc
	}
	type recording struct {
		record func(w io.Writer, next sdktrace.SpanExporter) ending
		within time.Duration
	}
	recordings := map[string]recording{
		"forwarder": {func(_ io.Writer, next sdktrace.SpanExporter) ending {
			return end(newForwarder(t, next, optrace.WithExportTimeout(timeout)), 1)
		}, 3 * timeout},
		"flight recorder": {func(w io.Writer, _ sdktrace.SpanExporter) ending {
			rec := check.Must(optrace.NewFlightRecorder(newExporter(t, w), 100, optrace.WithExportTimeout(timeout)))(t)
			rec.OnEnd(spantest.Operation(0).Snapshot())
			go func() { _ = rec.Dump(context.Background()) }()
			return rec
		}, 3 * timeout},
		"exporter": {func(w io.Writer, _ sdktrace.SpanExporter) ending {
			exp := newExporter(t, w)
			go func() { _ = exp.ExportSpans(context.Background(), spantest.Operations(3)) }()
			return exp
		}, 10*time.Second + timeout},
	}
	for _, policy := range policies {
		recordings["processor "+policy.String()] = recording{func(w io.Writer, _ sdktrace.SpanExporter) ending {
			return end(newProcessor(t, newExporter(t, w), optrace.WithExportTimeout(timeout),
				optrace.WithMaxBytes(leastBytes), optrace.WithPolicy(policy)), 3000)
		}, 2 * timeout}
	}
	for name, tt := range recordings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				hang := func(context.Context) error { <-release; return nil }
				w := spantest.NewStuckWriter()
				next := &spantest.Exporter{OnExport: hang, OnShutdown: hang}
				recorded := tt.record(w, next)
				synctest.Wait()
				begin := time.Now()
				check.Says(t, "Shutdown reports no error", "", recorded.Shutdown(context.Background()))
				if took := time.Since(begin); took > tt.within {
					t.Errorf("Shutdown took %v, want at most %v", took, tt.within)
				}
				checkBooks(t, name, recorded.Stats())
				w.Release()
				close(release)
				synctest.Wait()
				st := recorded.Stats()
				kept := len(spantest.Read(t, w.Bytes()).Entries) + len(next.Spans())
				if checkBooks(t, name, st); uint64(kept) != st.Written {
					t.Errorf("%d operations got through in the end, with %+v", kept, st)
				}
			})
		})
	}
	proc := newForwarder(t, &spantest.Exporter{OnShutdown: func(context.Context) error { panic("exporter") }})
	check.Says(t, "an exporter that panics", "exporter panicked in Shutdown", proc.Shutdown(t.Context()))
}

// Shutdown waits for a slow writer as long as it makes progress.
func TestShutdownOfASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := new(spantest.Buffer)
		slow := spantest.WriterFunc(func(p []byte) (int, error) {
			time.Sleep(900 * time.Millisecond)
			return w.Write(p)
		})
		proc := newProcessor(t, newExporter(t, slow), optrace.WithExportTimeout(time.Second),
			optrace.WithMaxBytes(1<<20), optrace.WithPolicy(optrace.PolicyBlock))
		const n = 5000
		for i := range n {
			proc.OnEnd(spantest.Operation(i).Snapshot())
		}
		shutdown(t, proc)
		if st := proc.Stats(); st.Written != n || w.Writes() < 5 {
			t.Errorf("stats %+v after %d writes", st, w.Writes())
		}
	})
}

// moody is a disk that is sometimes full. It takes a part of the write that fills it.
type moody struct {
	spantest.Buffer
	mu   sync.Mutex
	full bool
	part int // of the next write on the full disk
}

func (m *moody) set(full bool, part int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = full
	m.part = part
}

func (m *moody) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.full {
		return m.Buffer.Write(p)
	}
	n := min(m.part, len(p))
	m.part = 0
	_, _ = m.Buffer.Write(p[:n])
	return n, errors.New("no space left on device")
}

// ForceFlush reports operations lost by a background write, once. The gap record follows as soon as possible, even
// without an operation.
func TestForceFlushTellsOfLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(moody)
		p := newProcessor(t, newExporter(t, disk), optrace.WithFlushInterval(time.Second))
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
		defer shutdown(t, tp)
		flush(t, p)
		disk.set(true, 0)
		record(t.Context(), tp, 100)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		disk.set(false, 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check.Equal(t, "losses that the file tells of", 100, spantest.Read(t, disk.Bytes()).Lost())
		check.Says(t, "first flush", "100 operations were dropped since the last flush", p.ForceFlush(t.Context()))
		flush(t, p)
		record(t.Context(), tp, 10)
		flush(t, p)
		check.Equal(t, "operations in the file", 10, len(spantest.Read(t, disk.Bytes()).Entries))
	})
}

// After a ForceFlush without an error, all operations that ended since the last one are in the file, with concurrent
// recording and flushing, and a disk that is full at any time.
func TestFlushedIsWrittenConcurrentSafe(t *testing.T) {
	for name, opts := range map[string][]optrace.ExporterOption{
		"entries": nil, "OTLP": {optrace.WithFormat(optrace.FormatOTLPProto)},
		"gzip": {optrace.WithCompression(optrace.CompressionGzip)},
	} {
		t.Run(name, func(t *testing.T) {
			count := cases.Count(t, 200, 5000)
			synctest.Test(t, func(t *testing.T) { testFlushed(t, count, opts...) })
		})
	}
}

func testFlushed(t *testing.T, count int, opts ...optrace.ExporterOption) {
	t.Helper()
	disk := new(moody)
	p := newProcessor(t, newExporter(t, disk, opts...), optrace.WithFlushInterval(time.Second))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	tr := optrace.NewTracer(tp)
	type operation struct {
		name  string
		ended bool
	}
	var mu sync.Mutex
	var ops []*operation          // in the order of their ends
	flushed := 0                  // number of ended operations at the last ForceFlush
	flushing := 0                 // calls of ForceFlush; a running one may have reported losses
	safe := make(map[string]bool) // operations covered by a nil error
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for n := range count {
				op := &operation{name: fmt.Sprint("op", g, "-", n)}
				_, o := tr.Start(context.Background(), op.name, "cpu")
				mu.Lock()
				ops = append(ops, op)
				mu.Unlock()
				o.End()
				mu.Lock()
				op.ended = true
				mu.Unlock()
				if r.IntN(5) == 0 {
					disk.set(r.IntN(2) == 0, r.IntN(500))
				}
				if r.IntN(4) > 0 {
					continue
				}
				var covered []string
				mu.Lock()
				for _, op := range ops[flushed:] {
					if op.ended && flushing == 0 {
						covered = append(covered, op.name)
					}
				}
				flushing++
				mu.Unlock()
				err := p.ForceFlush(context.Background())
				mu.Lock()
				for _, name := range covered {
					safe[name] = safe[name] || err == nil
				}
				flushed = len(ops)
				flushing--
				mu.Unlock()
				time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	disk.set(false, 0)
	time.Sleep(time.Minute) // until writes are tried again
	shutdown(t, tp)
	written := make(map[string]bool)
	for _, e := range spantest.Read(t, disk.Bytes()).Entries {
		written[e.Operation] = true
	}
	covered := 0
	for name, is := range safe {
		if is {
			covered++
		}
		if is && !written[name] {
			t.Errorf("%s is not in the file", name)
		}
	}
	if st := p.Stats(); covered == 0 || st.Dropped == 0 || st.Written != uint64(len(written)) {
		t.Errorf("%d operations are safe, %d are in the file, %+v", covered, len(written), st)
	}
}
