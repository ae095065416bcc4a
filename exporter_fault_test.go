package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace/internal/race"
	"github.com/optrace/optrace/internal/spantest"
)

// Every byte offset at which a write of three entries can end, in every way
// that it can end: whole lines are readable, the counts are exact, the batch
// after it heals the torn line and tells how many entries are missing.
func TestFaultyWriterMatrix(t *testing.T) {
	faults := map[string]func(int) (int, error){
		"error":         func(n int) (int, error) { return n, errDisk },
		"short write":   func(n int) (int, error) { return n, nil },
		"panic":         func(int) (int, error) { panic("writer") },
		"error, no n":   func(int) (int, error) { return 0, errDisk },
		"negative n":    func(int) (int, error) { return -1, errDisk },
		"n beyond data": func(int) (int, error) { return 1 << 20, errDisk },
	}
	var whole bytes.Buffer
	if err := newExporter(t, &whole).ExportSpans(t.Context(), spantest.Operations(3)); err != nil {
		t.Fatal(err)
	}
	step := 1
	if race.Enabled { // one goroutine: every byte tells no more of races
		step = 7
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			for n := 0; n < whole.Len(); n += step {
				testFaultAt(t, n, fault, name == "error" || name == "short write")
			}
		})
	}
	t.Run("without recovery", func(t *testing.T) {
		for n := 0; n < whole.Len(); n += step {
			w := &spantest.FaultyWriter{N: n, Fault: faults["error"], Broken: true}
			exp := newExporter(t, w)
			for range 10 {
				_ = exp.ExportSpans(t.Context(), spantest.Operations(3))
			}
			_ = exp.Shutdown(t.Context())
			st := exp.Stats()
			checkBooks(t, "exporter", st)
			// A last line that lacks its newline is readable all the same.
			if got := uint64(len(read(t, w.Bytes()).entries)); st.Recorded != 30 || got < st.Written || got > st.Written+1 {
				t.Fatalf("write ends at byte %d: Stats are %+v with %d readable", n, st, got)
			}
		}
	})
}

// testFaultAt lets the first write end at byte n. exact tells that the writer
// said how much it took.
func testFaultAt(t *testing.T, n int, fault func(int) (int, error), exact bool) {
	t.Helper()
	w := &spantest.FaultyWriter{N: n, Fault: fault}
	exp := newExporter(t, w)
	if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); err == nil {
		t.Fatalf("write ends at byte %d: ExportSpans reports no error", n)
	}
	first := read(t, w.Bytes())
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); err != nil {
		t.Fatalf("write ends at byte %d: the next ExportSpans fails: %v", n, err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = exp.Stats()
	checkBooks(t, "exporter", st)
	rec := read(t, w.Bytes())
	if st.Recorded != 5 {
		t.Errorf("write ends at byte %d: recorded %d, want 5", n, st.Recorded)
	}
	if rec.lost() != st.Dropped {
		t.Errorf("write ends at byte %d: gap records tell of %d, dropped are %d", n, rec.lost(), st.Dropped)
	}
	if !exact {
		return
	}
	if len(rec.malformed) > 1 {
		t.Errorf("write ends at byte %d: %d lines cannot be read, want the torn one at most: %v",
			n, len(rec.malformed), rec.malformed)
	}
	// A line that lacks its newline only became whole by the newline that heals.
	whole := uint64(len(rec.entries))
	if st.Written > whole || st.Written+1 < whole {
		t.Errorf("write ends at byte %d: %d count as written, %d are readable (%d after the fault)",
			n, st.Written, whole, len(first.entries))
	}
	if got := steps(rec.entries); !slices.Equal(got[len(got)-2:], []int64{0, 1}) {
		t.Errorf("write ends at byte %d: the next batch brought entries %v", n, got)
	}
}

func TestExportSpansWriterPanicReachesNobody(t *testing.T) {
	exp := newExporter(t, spantest.WriterFunc(func([]byte) (int, error) { panic("boom") }))
	err := exp.ExportSpans(t.Context(), spantest.Operations(1))
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("ExportSpans returns %v, want the panic", err)
	}
	checkBooks(t, "exporter", exp.Stats())
}

// hostileSpan panics wherever it is asked for its attributes.
type hostileSpan struct{ sdktrace.ReadOnlySpan }

func (hostileSpan) Resource() *resource.Resource { panic("hostile span") }

func TestExportSpansPanickingSpan(t *testing.T) {
	hostile := hostileSpan{spantest.Operation(1).Snapshot()}
	t.Run("converted", func(t *testing.T) {
		var out bytes.Buffer
		exp := newExporter(t, &out)
		err := exp.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{spantest.Operation(0).Snapshot(), hostile, spantest.Operation(2).Snapshot()})
		if err == nil || !strings.Contains(err.Error(), "hostile span") {
			t.Errorf("ExportSpans returns %v, want the panic", err)
		}
		rec := readWhole(t, out.Bytes())
		if diff := cmp.Diff([]int64{0, 2}, steps(rec.entries)); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		checkBooks(t, "exporter", exp.Stats())
		if st := exp.Stats(); st.Dropped != 1 || rec.lost() != 1 {
			t.Errorf("dropped %d and gap records of %d, want 1", st.Dropped, rec.lost())
		}
	})
	t.Run("dropped", func(t *testing.T) {
		exp := newExporter(t, io.Discard)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := exp.ExportSpans(ctx, []sdktrace.ReadOnlySpan{hostile, spantest.Operation(2).Snapshot()}); !errors.Is(err, context.Canceled) {
			t.Errorf("ExportSpans returns %v, want the context's error", err)
		}
		checkBooks(t, "exporter", exp.Stats())
	})
	t.Run("processor", func(t *testing.T) {
		var buf spantest.Buffer
		proc := newProcessor(t, newExporter(t, &buf))
		proc.OnEnd(hostile)
		proc.OnEnd(spantest.Operation(2).Snapshot())
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		checkBooks(t, "processor", proc.Stats())
		if rec := readWhole(t, buf.Bytes()); len(rec.entries) != 1 || rec.lost() != 1 {
			t.Errorf("%d entries and a loss of %d, want 1 and 1", len(rec.entries), rec.lost())
		}
	})
}

func TestCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, broken := 0, true
		var out bytes.Buffer
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			calls++
			if broken {
				return 0, errDisk
			}
			return out.Write(p)
		}))
		export := func(n int) (err error) {
			for range n {
				err = exp.ExportSpans(context.Background(), spantest.Operations(1))
			}
			return err
		}
		if err := export(20); err == nil {
			t.Error("ExportSpans reports no error while the writer is left alone")
		}
		if calls != 5 {
			t.Errorf("the writer was called %d times in a row, want 5", calls)
		}
		// Half open: one attempt per pause, and the pause doubles up to 30 s.
		for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			pause := seconds * time.Second
			before := calls
			time.Sleep(pause - time.Nanosecond)
			_ = export(3)
			if calls != before {
				t.Errorf("the writer was called before the pause of %v is over", pause)
			}
			time.Sleep(time.Nanosecond)
			_ = export(3)
			if calls != before+1 {
				t.Errorf("the writer was called %d times after a pause of %v, want once", calls-before, pause)
			}
		}
		broken = false
		time.Sleep(30 * time.Second)
		if err := export(3); err != nil {
			t.Errorf("ExportSpans fails with a writer that recovered: %v", err)
		}
		st := exp.Stats()
		checkBooks(t, "exporter", st)
		rec := readWhole(t, out.Bytes())
		if len(rec.entries) != 3 || rec.lost() != st.Dropped || st.Dropped != st.Recorded-3 {
			t.Errorf("%d entries and a loss of %d with %+v", len(rec.entries), rec.lost(), st)
		}
		checkBatches(t, rec, false)
	})
}

// What Shutdown still has to tell goes out before the end, also with a
// context that is done.
func TestShutdownWritesLastGaps(t *testing.T) {
	for _, done := range []bool{false, true} {
		t.Run(fmt.Sprintf("context done %v", done), func(t *testing.T) {
			w := &spantest.FaultyWriter{Fault: func(int) (int, error) { return 0, errDisk }}
			exp := newExporter(t, w)
			if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); !errors.Is(err, errDisk) {
				t.Fatalf("ExportSpans returns %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if done {
				cancel()
			}
			if err := exp.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if lost := readWhole(t, w.Bytes()).lost(); lost != 3 {
				t.Errorf("gap records tell of %d entries, want 3", lost)
			}
		})
	}
}

// A batch that was cut off behind a change of resource is followed by a header.
func TestHeaderAfterTornBatch(t *testing.T) {
	first, second := spantest.Operation(0), spantest.Operation(1)
	second.Resource = spantest.Service("evaluator")
	batch := tracetest.SpanStubs{first, second}.Snapshots()
	var whole bytes.Buffer
	if err := newExporter(t, &whole).ExportSpans(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	w := &spantest.FaultyWriter{N: whole.Len() - 5, Fault: func(n int) (int, error) { return n, errDisk }}
	exp := newExporter(t, w)
	_ = exp.ExportSpans(t.Context(), batch)
	if err := exp.ExportSpans(t.Context(), batch[:1]); err != nil {
		t.Fatal(err)
	}
	rec := read(t, w.Bytes())
	if last := rec.resources[len(rec.resources)-1]; last.Service != "trainer" {
		t.Errorf("the last entry, of service trainer, stands below a header of %s", last.Service)
	}
}
