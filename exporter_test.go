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
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op/entries"
)

func TestNewExporter(t *testing.T) {
	if exp, err := optrace.NewExporter(nil); err == nil || exp != nil {
		t.Errorf("a nil writer gives %v, %v, want an error", exp, err)
	}
	var buf spantest.Buffer
	exp, err := optrace.NewExporter(&buf, nil, optrace.WithMapping(nil), nil)
	if err != nil {
		t.Fatalf("nil options: %v", err)
	}
	if buf.Writes() != 0 {
		t.Errorf("the constructor wrote %q", buf.Bytes())
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if buf.Writes() != 0 {
		t.Errorf("without a batch Shutdown wrote %q", buf.Bytes())
	}
}

func TestExportSpansGolden(t *testing.T) {
	failed := spantest.Operation(2)
	failed.Status = sdktrace.Status{Code: codes.Error, Description: "out of memory"}
	other := spantest.Operation(3)
	other.Resource = spantest.Service("evaluator")
	other.Parent = spantest.Request().SpanContext
	unrelated := spantest.Request()
	unrelated.SpanContext = spantest.SpanContext(7, 7)
	spans := tracetest.SpanStubs{spantest.Operation(0), spantest.Operation(1), failed, other, spantest.Request(), unrelated}.Snapshots()

	var out bytes.Buffer
	exp := newExporter(t, &out)
	for range 2 {
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
	}
	got := regexp.MustCompile(`"writer":"[0-9a-f]{12}"`).ReplaceAll(out.Bytes(), []byte(`"writer":"000000000000"`))
	path := filepath.Join("testdata", "exporter_batch.jsonl")
	golden.Check(t, path, got)
	want2 := optrace.Stats{Recorded: 8, Written: 8, Skipped: 4}
	if got := exp.Stats(); got != want2 {
		t.Errorf("Stats are %+v, want %+v", got, want2)
	}
}

func TestExportSpansOneWritePerBatch(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	for i, n := range []int{1, 3, 512} {
		if err := exp.ExportSpans(t.Context(), spantest.Operations(n)); err != nil {
			t.Fatal(err)
		}
		if buf.Writes() != i+1 {
			t.Fatalf("%d writes after %d batches", buf.Writes(), i+1)
		}
	}
	rec := spantest.ReadWhole(t, buf.Bytes())
	rec.CheckBatches(t, false)
	var sizes []int64
	for _, b := range rec.Batches {
		sizes = append(sizes, b.Entries)
	}
	if diff := cmp.Diff([]int64{1, 3, 512}, sizes); diff != "" {
		t.Errorf("entries per batch record (-want +got):\n%s", diff)
	}
	if len(rec.Resources) != 1 {
		t.Errorf("%d headers for one resource, want 1", len(rec.Resources))
	}
}

func TestExportSpansResourceChange(t *testing.T) {
	var out bytes.Buffer
	exp := newExporter(t, &out)
	span := func(i int, service string) sdktrace.ReadOnlySpan {
		s := spantest.Operation(i)
		s.Resource = spantest.Service(service)
		return s.Snapshot()
	}
	for _, batch := range [][]sdktrace.ReadOnlySpan{
		{span(0, "a"), span(1, "a"), span(2, "b")},
		{span(3, "b")},
		{span(4, "a")},
	} {
		if err := exp.ExportSpans(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	r := entries.NewReader(&out, "out")
	for rec, err := range r.Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Resource != nil:
			got = append(got, "header "+rec.Resource.Service)
		case rec.Entry != nil:
			got = append(got, fmt.Sprintf("%d %s", rec.Entry.Step.V, rec.Entry.Service))
		}
	}
	want := []string{"header a", "0 a", "1 a", "header b", "2 b", "3 b", "header a", "4 a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers and entries (-want +got):\n%s", diff)
	}
}

func TestExportSpansAncestors(t *testing.T) {
	var out bytes.Buffer
	exp := newExporter(t, &out)
	unrelated := spantest.Request()
	unrelated.SpanContext = spantest.SpanContext(5, 5)
	before := spantest.Request()
	before.Name, before.SpanContext = "ended before any operation", spantest.SpanContext(0, 1<<21)
	spans := tracetest.SpanStubs{before, spantest.Operation(0), spantest.Request(), unrelated}.Snapshots()
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	rec := spantest.ReadWhole(t, out.Bytes())
	if len(rec.Spans) != 1 || rec.Spans[0].Name != "POST /generate" {
		t.Errorf("ancestry records are %+v, want the request above the operation alone", rec.Spans)
	}
	if st := exp.Stats(); st.Recorded != 1 || st.Skipped != 3 {
		t.Errorf("Stats are %+v, want 1 recorded and 3 skipped", st)
	}
}

// checks of arguments come in the order shutdown, context, empty batch.
func TestExportSpansChecks(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name     string
		ctx      context.Context
		shutdown bool
		spans    []sdktrace.ReadOnlySpan
		want     error
		stats    optrace.Stats
	}{
		{name: "shut down", ctx: t.Context(), shutdown: true, spans: spantest.Operations(1), want: optrace.ErrExporterShutdown},
		{name: "shut down, cancelled", ctx: cancelled, shutdown: true, spans: spantest.Operations(1), want: optrace.ErrExporterShutdown},
		{name: "shut down, empty", ctx: t.Context(), shutdown: true, want: optrace.ErrExporterShutdown},
		{name: "cancelled", ctx: cancelled, spans: spantest.Operations(2), want: context.Canceled, stats: optrace.Stats{Recorded: 2, Dropped: 2}},
		{name: "cancelled, empty", ctx: cancelled, want: context.Canceled},
		{name: "empty", ctx: t.Context(), spans: []sdktrace.ReadOnlySpan{}},
		{name: "nil spans", ctx: t.Context(), spans: make([]sdktrace.ReadOnlySpan, 3)},
		{name: "no operations", ctx: t.Context(), spans: tracetest.SpanStubs{spantest.Request()}.Snapshots(), stats: optrace.Stats{Skipped: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var buf spantest.Buffer
			exp := newExporter(t, &buf)
			if tt.shutdown {
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := exp.ExportSpans(tt.ctx, tt.spans); !errors.Is(err, tt.want) {
				t.Errorf("ExportSpans returns %v, want %v", err, tt.want)
			}
			if buf.Writes() != 0 {
				t.Errorf("ExportSpans wrote %q", buf.Bytes())
			}
			if got := exp.Stats(); got != tt.stats {
				t.Errorf("Stats are %+v, want %+v", got, tt.stats)
			}
		})
	}
}

func TestExporterNilContext(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	var none context.Context
	if err := exp.ExportSpans(none, spantest.Operations(1)); err != nil {
		t.Errorf("ExportSpans: %v", err)
	}
	if err := exp.ForceFlush(none); err != nil {
		t.Errorf("ForceFlush: %v", err)
	}
	if err := exp.Shutdown(none); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestExporterShutdown(t *testing.T) {
	exp := newExporter(t, io.Discard)
	for i := range 3 {
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown %d: %v", i+1, err)
		}
	}
	if err := exp.ForceFlush(t.Context()); err != nil {
		t.Errorf("ForceFlush after Shutdown: %v", err)
	}
}

func TestExporterForceFlushContext(t *testing.T) {
	exp := newExporter(t, io.Discard)
	if err := exp.ForceFlush(t.Context()); err != nil {
		t.Errorf("ForceFlush: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exp.ForceFlush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ForceFlush with a cancelled context returns %v", err)
	}
}

// countedContext is done from its n-th look at Err on.
type countedContext struct {
	context.Context
	looks int
	done  chan struct{}
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) Err() error {
	if c.looks--; c.looks == 0 {
		close(c.done)
	}
	if c.looks <= 0 {
		return context.Canceled
	}
	return nil
}

func TestExportSpansCancelledWithinBatch(t *testing.T) {
	var buf spantest.Buffer
	exp := newExporter(t, &buf)
	ctx := &countedContext{Context: t.Context(), looks: 4, done: make(chan struct{})}
	const n = 500
	if err := exp.ExportSpans(ctx, spantest.Operations(n)); !errors.Is(err, context.Canceled) {
		t.Errorf("ExportSpans returns %v, want the context's error", err)
	}
	rec := spantest.ReadWhole(t, buf.Bytes())
	st := exp.Stats()
	if len(rec.Entries) == 0 || len(rec.Entries) == n {
		t.Errorf("%d of %d entries are written, want some", len(rec.Entries), n)
	}
	if diff := cmp.Diff(spantest.UpTo(len(rec.Entries)), rec.Steps()); diff != "" {
		t.Errorf("the entries written are not the first ones (-want +got):\n%s", diff)
	}
	if st.Written != uint64(len(rec.Entries)) || st.Recorded != n {
		t.Errorf("Stats are %+v with %d of %d entries written", st, len(rec.Entries), n)
	}
	checkBooks(t, "exporter", st)
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err != nil {
		t.Fatal(err)
	}
	if lost := spantest.ReadWhole(t, buf.Bytes()).Lost(); lost != st.Dropped {
		t.Errorf("gap records tell of %d entries, dropped are %d", lost, st.Dropped)
	}
}

func TestExportSpansDoesNotKeepSlice(t *testing.T) {
	var out bytes.Buffer
	exp := newExporter(t, &out)
	spans := spantest.Operations(3)
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	for i := range spans { // as the SDK's batch processor does
		spans[i] = nil
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err != nil {
		t.Fatal(err)
	}
	rec := spantest.ReadWhole(t, out.Bytes())
	if diff := cmp.Diff([]int64{0, 1, 2, 0}, rec.Steps()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestExportSpansDoesNotChangeAttributes(t *testing.T) {
	stub := spantest.Operation(0)
	before := fmt.Sprint(stub.Attributes)
	exp := newExporter(t, io.Discard)
	if err := exp.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{stub.Snapshot()}); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(stub.Attributes); after != before {
		t.Errorf("attributes were %s and are %s", before, after)
	}
}

func TestMarshalLogHasNoPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret-name.jsonl")
	exp, err := optrace.NewFileExporter(path)
	if err != nil {
		t.Fatal(err)
	}
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

// E5: a writer that changes what it is given, which io.Writer forbids, spoils no
// later batch, in any format.
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
			if err := proc.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := spantest.Read(t, out.Bytes()).Steps()
		slices.Sort(got)
		if !slices.Equal(got, spantest.UpTo(12)) {
			t.Errorf("%v: operations %v", o, got)
		}
	}
}

// E6: a nil context is taken for context.Background.
func TestNilContexts(t *testing.T) {
	var none context.Context
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	proc.OnEnd(spantest.Operation(0).Snapshot())
	if err := proc.ForceFlush(none); err != nil {
		t.Error(err)
	}
	rec := proc.Recorder(none)
	rec.Begin("matmul", "cuda:0")
	rec.Finish()
	if err := proc.Shutdown(none); err != nil {
		t.Error(err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		_, o := tr.Start(none, "matmul", "cuda:0")
		o.End()
		_, prepared := prepare(t, tr, optrace.OpSpec{Name: "matmul"}).Start(none)
		prepared.End()
		rec := tr.Recorder(none)
		rec.Begin("matmul", "cuda:0")
		rec.Finish()
	})
	if len(spans) != 3 {
		t.Errorf("%d spans, want 3", len(spans))
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
		rec := spantest.ReadWhole(t, out.Bytes())
		if diff := cmp.Diff([]int64{0, 2}, rec.Steps()); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		checkBooks(t, "exporter", exp.Stats())
		if st := exp.Stats(); st.Dropped != 1 || rec.Lost() != 1 {
			t.Errorf("dropped %d and gap records of %d, want 1", st.Dropped, rec.Lost())
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
		if rec := spantest.ReadWhole(t, buf.Bytes()); len(rec.Entries) != 1 || rec.Lost() != 1 {
			t.Errorf("%d entries and a loss of %d, want 1 and 1", len(rec.Entries), rec.Lost())
		}
	})
}
