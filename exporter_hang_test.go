package optrace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

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
