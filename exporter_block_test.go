package optrace_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

func TestExportSpansDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		exp := newExporter(t, w)
		const deadline = 3 * time.Second
		export := func(n int) {
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			start := time.Now()
			if err := exp.ExportSpans(ctx, spantest.Operations(n)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ExportSpans returns %v, want the deadline", err)
			}
			if took := time.Since(start); took != deadline {
				t.Errorf("ExportSpans took %v, want %v", took, deadline)
			}
		}
		export(2) // stays with the writer
		export(3) // never gets there
		if st := exp.Stats(); st.Recorded != 5 || st.Dropped != 3 || st.Written != 0 {
			t.Errorf("Stats are %+v while a write is under way", st)
		}
		w.Release()
		synctest.Wait()
		if err := exp.ExportSpans(context.Background(), spantest.Operations(1)); err != nil {
			t.Errorf("ExportSpans after the writer went on: %v", err)
		}
		st := exp.Stats()
		checkBooks(t, "exporter", st)
		rec := spantest.ReadWhole(t, w.Bytes())
		rec.CheckBatches(t, false)
		if len(rec.Entries) != 3 || st.Written != 3 || rec.Lost() != 3 {
			t.Errorf("%d entries and a loss of %d with %+v", len(rec.Entries), rec.Lost(), st)
		}
	})
}

func TestShutdownDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		exp := newExporter(t, w)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = exp.ExportSpans(ctx, spantest.Operations(2))
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		if err := exp.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returns %v, want the deadline", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("Shutdown took %v, want 1s", took)
		}
		st := exp.Stats()
		checkBooks(t, "exporter with a write under way", st)
		if st.Dropped != 2 {
			t.Errorf("dropped %d, want the 2 under way", st.Dropped)
		}
		if err := exp.ExportSpans(context.Background(), spantest.Operations(1)); !errors.Is(err, optrace.ErrExporterShutdown) {
			t.Errorf("ExportSpans returns %v", err)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Errorf("the second Shutdown returns %v", err)
		}
		w.Release()
		synctest.Wait()
		checkBooks(t, "exporter at last", exp.Stats())
		if w.Writes() != 1 {
			t.Errorf("%d writes, want the one that was under way", w.Writes())
		}
	})
}

func TestForceFlushDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := spantest.NewStuckWriter()
		exp := newExporter(t, w)
		go func() { _ = exp.ExportSpans(context.Background(), spantest.Operations(1)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := exp.ForceFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ForceFlush during a write returns %v, want the deadline", err)
		}
		flushed := make(chan error)
		go func() { flushed <- exp.ForceFlush(context.Background()) }()
		synctest.Wait()
		w.Release()
		if err := <-flushed; err != nil {
			t.Errorf("ForceFlush: %v", err)
		}
		if w.Writes() != 1 {
			t.Error("ForceFlush returned before the write")
		}
	})
}

func TestExporterConcurrentSafe(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	const exporters, batches, perBatch = 4, 50, 7
	spans := spantest.Operations(perBatch)
	var accepted atomic.Uint64
	var wg sync.WaitGroup
	for range exporters {
		wg.Go(func() {
			for range batches {
				switch err := exp.ExportSpans(context.Background(), spans); {
				case err == nil:
					accepted.Add(perBatch)
				case !errors.Is(err, optrace.ErrExporterShutdown):
					t.Errorf("ExportSpans: %v", err)
				}
			}
		})
		wg.Go(func() {
			for range batches {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if err := exp.ForceFlush(ctx); err != nil {
					t.Errorf("ForceFlush: %v", err)
				}
				_, _ = exp.Stats(), exp.MarshalLog()
				cancel()
			}
		})
	}
	wg.Go(func() {
		for buf.Writes() < exporters*batches/2 {
			time.Sleep(10 * time.Microsecond)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		atEnd := buf.Writes()
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Errorf("the second Shutdown: %v", err)
		}
		if n := buf.Writes(); n != atEnd {
			t.Errorf("%d writes after Shutdown", n-atEnd)
		}
	})
	wg.Wait()
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := spantest.ReadWhole(t, buf.Bytes())
	rec.CheckBatches(t, false)
	if st.Written != accepted.Load() || uint64(len(rec.Entries)) != st.Written {
		t.Errorf("ExportSpans took %d, Stats say %d, the writer has %d", accepted.Load(), st.Written, len(rec.Entries))
	}
}

// A writer that is traced itself: its spans come back to the same exporter.
func TestWriterThatStartsSpans(t *testing.T) {
	var buf spantest.Buffer
	var tracer *optrace.Tracer
	writes := 0
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes <= 3 {
			_, o := tracer.Start(context.Background(), "write", "disk")
			o.End()
		}
		return buf.Write(p)
	}))
	proc := newProcessor(t, exp)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer = optrace.NewTracer(tp)
	_, o := tracer.Start(t.Context(), "matmul", "cpu")
	o.End()
	for range 5 {
		if err := proc.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 4 {
		t.Errorf("%d entries, want the operation and 3 writes", n)
	}
	checkBooks(t, "processor", proc.Stats())
}

func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	exp := newExporter(t, w)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); err == nil {
			t.Error("writing to a pipe that nobody reads succeeds")
		}
	}
	if st := exp.Stats(); st.Dropped != 20 {
		t.Errorf("Stats are %+v", st)
	}
	_ = exp.Shutdown(t.Context())
}

// OpenTelemetry's error handler is the application's: whatever it does, spans
// end.
func TestErrorHandlerThatPanicsOrBlocks(t *testing.T) {
	release := make(chan struct{})
	for name, handle := range map[string]func(error){
		"panics": func(error) { panic("handler") },
		"blocks": func(error) { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			called := make(chan struct{}, 100)
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
				called <- struct{}{}
				handle(err)
			}))
			proc := newProcessor(t, newExporter(t, spantest.WriterFunc(func([]byte) (int, error) { return 0, errDisk })),
				optrace.WithFlushInterval(time.Millisecond))
			for i := range 200 {
				proc.OnEnd(spantest.Operation(i).Snapshot())
			}
			<-called
			proc.OnEnd(spantest.Operation(0).Snapshot())
			if err := proc.Shutdown(t.Context()); err == nil {
				t.Error("Shutdown reports no error although nothing could be written")
			}
			checkBooks(t, "processor", proc.Stats())
		})
	}
	close(release)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
}

// Two processors may share an exporter, and the SDK's own may be one of them.
func TestExporterBehindSimpleAndBatchProcessors(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp), sdktrace.WithBatcher(exp))
	tracer := optrace.NewTracer(tp)
	for range 10 {
		_, o := tracer.Start(t.Context(), "matmul", "cpu")
		o.End()
	}
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 20 {
		t.Errorf("%d entries, want each operation from both processors", n)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// hangingWriter takes the first n writes, and hangs in the next one until it is
// released.
type hangingWriter struct {
	n       int
	release chan struct{}
}

func (w *hangingWriter) Write(p []byte) (int, error) {
	if w.n--; w.n < 0 {
		<-w.release
	}
	return len(p), nil
}

// A Shutdown without a deadline ends although the writer hangs, in the time that
// it states, and what was not written is counted.
func TestW8ShutdownOfAHungWriter(t *testing.T) {
	const timeout = 200 * time.Millisecond
	for name, shutdown := range map[string]struct {
		record func(*optrace.Exporter) (stop func(context.Context) error, stats func() optrace.Stats)
		within time.Duration
	}{
		"processor": {func(exp *optrace.Exporter) (func(context.Context) error, func() optrace.Stats) {
			proc := newProcessor(t, exp, optrace.WithExportTimeout(timeout), optrace.WithBufferBytes(64<<10))
			for i := range 300 {
				proc.OnEnd(spantest.Operation(i).Snapshot())
			}
			return proc.Shutdown, proc.Stats
		}, 2 * timeout},
		"blocking processor": {func(exp *optrace.Exporter) (func(context.Context) error, func() optrace.Stats) {
			proc := newProcessor(t, exp, optrace.WithExportTimeout(timeout), optrace.WithBufferBytes(64<<10),
				optrace.WithPolicy(optrace.PolicyBlock))
			go func() {
				for i := range 3000 {
					proc.OnEnd(spantest.Operation(i).Snapshot())
				}
			}()
			synctest.Wait()
			return proc.Shutdown, proc.Stats
		}, 2 * timeout},
		"flight recorder": {func(exp *optrace.Exporter) (func(context.Context) error, func() optrace.Stats) {
			rec, err := optrace.NewFlightRecorder(exp, 100, optrace.WithExportTimeout(timeout))
			if err != nil {
				t.Fatal(err)
			}
			rec.OnEnd(spantest.Operation(0).Snapshot())
			go func() { _ = rec.Dump(context.Background()) }()
			synctest.Wait()
			return rec.Shutdown, nil
		}, 3 * timeout},
		"exporter": {func(exp *optrace.Exporter) (func(context.Context) error, func() optrace.Stats) {
			go func() { _ = exp.ExportSpans(context.Background(), spantest.Operations(3)) }()
			synctest.Wait()
			return exp.Shutdown, exp.Stats
		}, 10*time.Second + timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &hangingWriter{release: make(chan struct{})}
				stop, stats := shutdown.record(newExporter(t, w))
				begin := time.Now()
				if err := stop(context.Background()); err == nil {
					t.Error("Shutdown reports no error")
				}
				if took := time.Since(begin); took > shutdown.within {
					t.Errorf("Shutdown took %v, want at most %v", took, shutdown.within)
				}
				if stats != nil {
					checkBooks(t, name, stats())
				}
				close(w.release)
				synctest.Wait()
			})
		})
	}
}

// A writer that is slow is waited for as long as batches get through.
func TestW8ShutdownOfASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			writes++
			time.Sleep(900 * time.Millisecond)
			return len(p), nil
		}))
		proc := newProcessor(t, exp, optrace.WithExportTimeout(time.Second), optrace.WithBufferBytes(1<<20),
			optrace.WithPolicy(optrace.PolicyBlock))
		const n = 5000
		for i := range n {
			proc.OnEnd(spantest.Operation(i).Snapshot())
		}
		if err := proc.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if st := proc.Stats(); st.Written != n || writes < 5 {
			t.Errorf("stats %+v after %d writes", st, writes)
		}
	})
}

// A Forwarder's exporter that hangs, and ignores its context, is not waited for.
func TestW8ShutdownOfAHungForwarder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		next := &spantest.Exporter{OnExport: func(context.Context) error {
			<-release
			return nil
		}}
		proc := newForwarder(t, next, optrace.WithExportTimeout(time.Second))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		begin := time.Now()
		if err := proc.Shutdown(context.Background()); err == nil {
			t.Error("Shutdown reports no error")
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("Shutdown took %v", took)
		}
		checkBooks(t, "forwarder", proc.Stats())
		close(release)
		synctest.Wait()
	})
}
