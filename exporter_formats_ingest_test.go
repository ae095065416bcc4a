package optrace_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// The same operations, written in every format and rotated, read back the same.
func TestOutputReadByIngest(t *testing.T) {
	var want []op.Entry
	var wantSpans int
	for _, o := range outputs() {
		dir := t.TempDir()
		exp := newFile(t, filepath.Join(dir, "ops.jsonl"), o.fileOptions(optrace.WithRotation(optrace.Rotation{MaxBytes: 20_000}))...)
		for i := 0; i < 400; i += 20 {
			var spans []sdktrace.ReadOnlySpan
			for j := i; j < i+20; j++ {
				spans = append(spans, spantest.Operation(j).Snapshot())
			}
			export(t, exp, append(spans, spantest.Request().Snapshot())...)
		}
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []op.Entry
		spans := 0
		for rec, err := range ingest.Open(dir).Records() {
			if err != nil {
				t.Fatalf("%v: %v", o, err)
			}
			if rec.Entry != nil {
				got = append(got, *rec.Entry.Clone())
			}
			if rec.Span != nil {
				spans++
			}
		}
		if want == nil {
			want, wantSpans = got, spans
			if len(got) != 400 || spans != 20 {
				t.Fatalf("%d entries and %d spans, want 400 and 20", len(got), spans)
			}
		}
		if spans != wantSpans {
			t.Errorf("%v: %d spans, want %d", o, spans, wantSpans)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: entries (-%v +got):\n%.2000s", o, outputs()[0], diff)
		}
	}
}
