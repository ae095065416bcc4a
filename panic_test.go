package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

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
