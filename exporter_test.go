package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/spantest"
)

func TestExportSpansGolden(t *testing.T) {
	failed := spantest.Operation(2)
	failed.Status = sdktrace.Status{Code: codes.Error, Description: "out of memory"}
	failed.Events = []sdktrace.Event{{Name: "exception", Time: spantest.Epoch}}
	other := spantest.Operation(3)
	other.Resource = spantest.Service("evaluator")
	other.Parent = spantest.Request().SpanContext
	unrelated := spantest.Request()
	unrelated.SpanContext = spantest.SpanContext(7, 7)
	spans := tracetest.SpanStubs{spantest.Operation(0), spantest.Operation(1), failed, other, spantest.Request(),
		unrelated}.Snapshots()
	for _, f := range allFormats {
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithFormat(f))
		for range 2 {
			export(t, exp, spans...)
		}
		got := regexp.MustCompile(`"writer":"[0-9a-f]{12}"`).ReplaceAll(out.Bytes(), []byte(`"writer":"000000000000"`))
		golden.Check(t, filepath.Join("testdata", "exporter_"+f.String()), got)
		check.Equal(t, "Stats", optrace.Stats{Recorded: 8, Written: 8, Skipped: 4}, exp.Stats())
	}
}

// Arguments are checked in the order shutdown, context, empty batch.
func TestExportSpansChecks(t *testing.T) {
	tests := []struct {
		name     string
		ctx      context.Context
		shutdown bool
		spans    []sdktrace.ReadOnlySpan
		want     error
		stats    optrace.Stats
	}{
		{name: "shut down", ctx: t.Context(), shutdown: true, spans: spantest.Operations(1),
			want: optrace.ErrExporterShutdown},
		{name: "shut down, cancelled", ctx: cancelled(), shutdown: true, spans: spantest.Operations(1),
			want: optrace.ErrExporterShutdown},
		{name: "shut down, empty", ctx: t.Context(), shutdown: true, want: optrace.ErrExporterShutdown},
		{name: "cancelled", ctx: cancelled(), spans: spantest.Operations(2), want: context.Canceled,
			stats: optrace.Stats{Recorded: 2, Dropped: 2}},
		{name: "cancelled, empty", ctx: cancelled(), want: context.Canceled},
		{name: "empty", ctx: t.Context(), spans: []sdktrace.ReadOnlySpan{}},
		{name: "nil spans", ctx: t.Context(), spans: make([]sdktrace.ReadOnlySpan, 3)},
		{name: "no operations", ctx: t.Context(), spans: tracetest.SpanStubs{spantest.Request()}.Snapshots(),
			stats: optrace.Stats{Skipped: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var buf spantest.Buffer
			exp := newExporter(t, &buf)
			if tt.shutdown {
				shutdown(t, exp)
			}
			check.Is(t, "ExportSpans", tt.want, exp.ExportSpans(tt.ctx, tt.spans))
			check.Equal(t, "writes", 0, buf.Writes())
			check.Equal(t, "Stats", tt.stats, exp.Stats())
		})
	}
}

// cancellingSpan cancels a context when it is read.
type cancellingSpan struct {
	sdktrace.ReadOnlySpan
	cancel func()
}

func (s cancellingSpan) Name() string { s.cancel(); return s.ReadOnlySpan.Name() }

func TestExportSpansCancelledWithinBatch(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	ctx, cancel := context.WithCancel(t.Context())
	const n = 500
	spans := spantest.Operations(n)
	spans[100] = cancellingSpan{spans[100], cancel}
	check.Is(t, "ExportSpans", context.Canceled, exp.ExportSpans(ctx, spans))
	rec := spantest.ReadWhole(t, buf.Bytes())
	st := exp.Stats()
	if len(rec.Entries) == 0 || len(rec.Entries) == n {
		t.Errorf("%d of %d entries are written, want some", len(rec.Entries), n)
	}
	check.Equal(t, "the entries written are not the first ones", spantest.UpTo(len(rec.Entries)), rec.Steps())
	if st.Written != uint64(len(rec.Entries)) || st.Recorded != n {
		t.Errorf("Stats are %+v with %d of %d entries written", st, len(rec.Entries), n)
	}
	checkBooks(t, "exporter", st)
	export(t, exp, spantest.Operations(1)...)
	check.Equal(t, "gap records tell of what was dropped", st.Dropped, spantest.ReadWhole(t, buf.Bytes()).Lost())
}

func TestMarshalLogHasNoPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret-name.jsonl")
	exp := newFile(t, path)
	proc := newProcessor(t, exp)
	defer func() { _ = proc.Shutdown(context.Background()) }()
	for _, v := range []any{exp.MarshalLog(), proc.MarshalLog()} {
		if text := fmt.Sprintf("%+v", v); strings.Contains(text, "secret") {
			t.Errorf("MarshalLog gives away the path: %s", text)
		}
	}
	if text := fmt.Sprintf("%+v", (*optrace.Exporter)(nil).MarshalLog()); !strings.Contains(text, "optrace") {
		t.Errorf("MarshalLog of a nil exporter is %s", text)
	}
}

// A writer may change its input, against io.Writer's contract, without spoiling later batches. Row E5 of
// docs/faults.md.
func TestWriterThatChangesItsInput(t *testing.T) {
	for _, o := range outputs() {
		var out bytes.Buffer
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			n, err := out.Write(p)
			for i := range p {
				p[i] = 'x'
			}
			return n, err
		}), o.options()...)
		proc := newProcessor(t, exp)
		for i := range 4 {
			for j := range 3 {
				proc.OnEnd(spantest.Operation(3*i + j).Snapshot())
			}
			flush(t, proc)
		}
		shutdown(t, proc)
		got := spantest.Read(t, out.Bytes()).Steps()
		slices.Sort(got)
		check.Equal(t, fmt.Sprintf("%v: operations", o), spantest.UpTo(12), got)
	}
}

// A nil context is context.Background. Row E6 of docs/faults.md.
func TestNilContexts(t *testing.T) {
	var none context.Context
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	proc := newProcessor(t, exp)
	check.OK(t, errors.Join(exp.ExportSpans(none, spantest.Operations(1)), exp.ForceFlush(none)))
	proc.OnEnd(spantest.Operation(0).Snapshot())
	check.OK(t, proc.ForceFlush(none))
	rec := proc.Recorder(none)
	rec.Begin("matmul", "cuda:0")
	rec.Finish()
	check.OK(t, proc.Shutdown(none))
	check.Equal(t, "entries", 3, len(spantest.ReadWhole(t, buf.Bytes()).Entries))
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		run(none, tr, "matmul")
		_, prepared := prepare(t, tr, optrace.OpSpec{Name: "matmul"}).Start(none)
		prepared.End()
		rec := tr.Recorder(none)
		rec.Begin("matmul", "cuda:0")
		rec.Finish()
	})
	check.Equal(t, "spans", 3, len(spans))
}

func TestExporterConcurrentSafe(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	const exporters, batches, perBatch = 4, 50, 7
	spans := spantest.Operations(perBatch)
	var accepted atomic.Uint64
	atOnce(2*exporters+1, func(g int) {
		if g == 0 {
			for buf.Writes() < exporters*batches/2 {
				time.Sleep(10 * time.Microsecond)
			}
			check.Is(t, "Shutdown", nil, exp.Shutdown(context.Background()))
			atEnd := buf.Writes()
			check.Is(t, "the second Shutdown", nil, exp.Shutdown(context.Background()))
			check.Equal(t, "writes after Shutdown", atEnd, buf.Writes())
			return
		}
		for range batches {
			if g%2 == 0 {
				check.Is(t, "ForceFlush", nil, exp.ForceFlush(context.Background()))
				_ = exp.Stats()
				_ = exp.MarshalLog()
			} else if err := exp.ExportSpans(context.Background(), spans); err == nil {
				accepted.Add(perBatch)
			} else {
				check.Is(t, "ExportSpans", optrace.ErrExporterShutdown, err)
			}
		}
	})
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := spantest.ReadWhole(t, buf.Bytes())
	rec.CheckBatches(t)
	if n := accepted.Load(); st.Written != n || uint64(len(rec.Entries)) != n {
		t.Errorf("ExportSpans took %d, Stats say %d, the writer has %d", n, st.Written, len(rec.Entries))
	}
}

// A traced writer sends its own spans to the same exporter.
func TestWriterThatStartsSpans(t *testing.T) {
	var buf spantest.Buffer
	var tracer *optrace.Tracer
	writes := 0
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes <= 3 {
			run(context.Background(), tracer, "write")
		}
		return buf.Write(p)
	}))
	proc := newProcessor(t, exp)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer = optrace.NewTracer(tp)
	run(t.Context(), tracer, "matmul")
	for range 5 {
		flush(t, proc)
	}
	shutdown(t, tp)
	check.Equal(t, "entries", 4, len(spantest.ReadWhole(t, buf.Bytes()).Entries))
	checkBooks(t, "processor", proc.Stats())
}

// hostileSpan panics halfway through a read.
type hostileSpan struct{ sdktrace.ReadOnlySpan }

func (hostileSpan) DroppedLinks() int { panic("hostile span") }

// A span that panics is counted and leaves no part in the file.
func TestExportSpansPanickingSpan(t *testing.T) {
	spans := spantest.Operations(3)
	for _, f := range allFormats {
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithFormat(f))
		err := exp.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{spans[0], hostileSpan{spans[1]}, spans[2]})
		check.Says(t, fmt.Sprintf("%v: ExportSpans", f), "hostile span", err)
		rec := spantest.ReadWhole(t, out.Bytes())
		if diff := cmp.Diff([]int64{0, 2}, rec.Steps()); diff != "" || f == optrace.FormatEntries && rec.Lost() != 1 {
			t.Errorf("%v: gap records of %d, entries (-want +got):\n%s", f, rec.Lost(), diff)
		}
		check.Equal(t, f.String()+": stats", optrace.Stats{Recorded: 3, Written: 2, Dropped: 1}, exp.Stats())
	}
}

// After Shutdown, or with a done context, ForceFlush returns at once. A second Shutdown has no effect.
func TestExporterEnds(t *testing.T) {
	exp := newExporter(t, io.Discard)
	check.Is(t, "ForceFlush with a cancelled context", context.Canceled, exp.ForceFlush(cancelled()))
	check.OK(t, exp.ForceFlush(t.Context()))
	for range 3 {
		shutdown(t, exp)
	}
	check.OK(t, exp.ForceFlush(cancelled()))
}

// ExportSpans does not keep or change the slice.
func TestExportSpansKeepsNothing(t *testing.T) {
	var out bytes.Buffer
	exp := newExporter(t, &out)
	stubs := tracetest.SpanStubs{spantest.Operation(0), spantest.Operation(1)}
	before := fmt.Sprint(stubs)
	spans := stubs.Snapshots()
	export(t, exp, spans...)
	clear(spans) // like the SDK's batch processor
	export(t, exp, spantest.Operations(1)...)
	check.Equal(t, "operations", []int64{0, 1, 0}, spantest.ReadWhole(t, out.Bytes()).Steps())
	check.Equal(t, "spans", before, fmt.Sprint(stubs))
}

// Errors name the task and mention a done context once. A batch without entries has its own error text.
func TestErrorTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := spantest.Errors(t)
		w := spantest.NewStuckWriter()
		proc := newProcessor(t, newExporter(t, w), optrace.WithExportTimeout(time.Second),
			optrace.WithFlushInterval(time.Second))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := proc.Shutdown(ctx); err == nil || strings.Count(err.Error(), context.DeadlineExceeded.Error()) != 1 {
			t.Errorf("Shutdown returns %v", err)
		}
		w.Release()
		synctest.Wait()
		if got := told(); len(got) == 0 ||
			slices.ContainsFunc(got, func(err error) bool { return strings.HasPrefix(err.Error(), "context ") }) {
			t.Errorf("told %q", got)
		}
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte(`"operation"`)) {
				return len(p), nil
			}
			return 0, errDisk
		}))
		export(t, exp, spantest.Operations(1)...)
		err := exp.ExportSpans(t.Context(), tracetest.SpanStubs{spantest.Request()}.Snapshots())
		check.Says(t, "a batch without entries", "writing spans above operations: ", err)
	})
}
