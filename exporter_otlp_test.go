package optrace_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/spantest"
)

// exported returns what one batch of spans looks like in a format.
func exported(tb testing.TB, f optrace.Format, spans []sdktrace.ReadOnlySpan) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := newExporter(tb, &out, optrace.WithFormat(f)).ExportSpans(tb.Context(), spans); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// The spans above operations are written, those of other traces are not.
func TestOTLPAncestors(t *testing.T) {
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		t.Run(f.String(), func(t *testing.T) {
			var out bytes.Buffer
			exp := newExporter(t, &out, optrace.WithFormat(f))
			other := spantest.Request()
			other.SpanContext = spantest.SpanContext(9, 9)
			spans := tracetest.SpanStubs{other, spantest.Operation(0), spantest.Request()}.Snapshots()
			if err := exp.ExportSpans(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
			if err := exp.ExportSpans(t.Context(), spans[:1]); err != nil {
				t.Fatal(err)
			}
			if want := exported(t, f, spans[1:]); !bytes.Equal(want, out.Bytes()) {
				t.Errorf("want the operation and what is above it:\nwant %q\ngot  %q", want, out.Bytes())
			}
			if st := exp.Stats(); st.Written != 1 || st.Skipped != 3 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// What panics halfway leaves nothing behind.
func TestOTLPPanickingSpan(t *testing.T) {
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithFormat(f))
		spans := tracetest.SpanStubs{spantest.Operation(0), spantest.Operation(1), spantest.Operation(2)}.Snapshots()
		broken := []sdktrace.ReadOnlySpan{spans[0], hostileStatus{spans[1]}, spans[2]}
		if err := exp.ExportSpans(t.Context(), broken); err == nil {
			t.Errorf("%v: no error for a span that panics", f)
		}
		if want := exported(t, f, []sdktrace.ReadOnlySpan{spans[0], spans[2]}); !bytes.Equal(want, out.Bytes()) {
			t.Errorf("%v: want the other spans:\nwant %q\ngot  %q", f, want, out.Bytes())
		}
		if st := exp.Stats(); st.Written != 2 || st.Dropped != 1 {
			t.Errorf("%v: stats %+v", f, st)
		}
	}
}

type hostileStatus struct{ sdktrace.ReadOnlySpan }

func (hostileStatus) DroppedLinks() int { panic("hostile span") }

// A processor's recorder makes spans for an exporter of OTLP.
func TestOTLPRecorder(t *testing.T) {
	var out spantest.Buffer
	proc := newProcessor(t, newExporter(t, &out, optrace.WithFormat(optrace.FormatOTLPProto)))
	rec := proc.Recorder(t.Context())
	rec.Begin("matmul", "cuda:0")
	rec.Begin("relu", "cuda:0")
	rec.Finish()
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := 0
	for _, m := range spantest.Messages(t, out.Bytes()) {
		traces, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(m)
		if err != nil {
			t.Fatal(err)
		}
		spans += traces.SpanCount()
	}
	if spans != 2 {
		t.Errorf("%d spans, want 2", spans)
	}
}

func TestOTLPGolden(t *testing.T) {
	failed := spantest.Operation(1)
	failed.Status = sdktrace.Status{Code: codes.Error, Description: "out of memory"}
	failed.Events = []sdktrace.Event{{Name: "exception", Time: spantest.Epoch}}
	spans := tracetest.SpanStubs{spantest.Operation(0), failed, spantest.Request()}.Snapshots()
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		t.Run(f.String(), func(t *testing.T) {
			path := filepath.Join("testdata", "exporter_"+f.String())
			got := exported(t, f, spans)
			golden.Check(t, path, got)
		})
	}
}
