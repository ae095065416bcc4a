package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/spantest"
)

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
