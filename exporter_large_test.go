package optrace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// keepAll returns a mapping under which entries keep all attributes.
func keepAll() *op.Mapping {
	m := new(op.Mapping)
	m.KeepAll()
	return m
}

// noise returns n characters that compress badly.
func noise(n int) string {
	raw := make([]byte, n/2)
	for i := 0; i+8 <= len(raw); i += 8 {
		binary.LittleEndian.PutUint64(raw[i:], rand.Uint64())
	}
	return hex.EncodeToString(raw)
}

// manyAttributes returns n attributes with texts of size bytes.
func manyAttributes(n, size int) (attrs []attribute.KeyValue) {
	for i := range n {
		attrs = append(attrs, attribute.String(fmt.Sprint("note.", i), strings.Repeat("x", size)))
	}
	return attrs
}

// Whatever an operation carries, what is written of it can be read; what was cut
// is marked and counted.
func TestW5LargeOperations(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	const huge = 9 << 20
	long := strings.Repeat("ü\x00", huge/3)
	enlargements := map[string]func(*tracetest.SpanStub){
		"text": func(s *tracetest.SpanStub) { s.Attributes = append(s.Attributes, attribute.String("note", long)) },
		"name": func(s *tracetest.SpanStub) { s.Name = long },
		"error": func(s *tracetest.SpanStub) {
			s.Status = sdktrace.Status{Code: 1, Description: long}
		},
		"list": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes, attribute.Int64Slice("ids", make([]int64, huge/4)))
		},
		"attributes": func(s *tracetest.SpanStub) { s.Attributes = append(s.Attributes, manyAttributes(5000, 4000)...) },
		"shapes first": func(s *tracetest.SpanStub) {
			s.Attributes = append(manyAttributes(5000, 4000), s.Attributes...)
		},
		"events": func(s *tracetest.SpanStub) {
			for range 5000 {
				s.Events = append(s.Events, sdktrace.Event{Name: "e", Attributes: manyAttributes(1, 4000)})
			}
		},
		"resource": func(s *tracetest.SpanStub) { s.Resource = resource.NewSchemaless(attribute.String("note", long)) },
		"scope":    func(s *tracetest.SpanStub) { s.InstrumentationScope = instrumentation.Scope{Name: long} },
	}
	mapping := keepAll()
	for name, enlarge := range enlargements {
		t.Run(name, func(t *testing.T) {
			for o := range cases.Of(t, 1, outputs()) {
				dir := t.TempDir()
				exp := newFile(t, filepath.Join(dir, "ops.x"), o.fileOptions(optrace.WithMapping(mapping))...)
				large := spantest.Operation(1)
				enlarge(&large)
				export(t, exp, spantest.Operation(0).Snapshot(), large.Snapshot(), spantest.Operation(2).Snapshot())
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				found := findIn(t, dir)
				if n := found.Operations(); n != 3 || found.Malformed > 0 || exp.Stats().Written != 3 {
					t.Errorf("%v: %d operations and %d unreadable records, with %+v", o, n, found.Malformed, exp.Stats())
				}
			}
		})
	}
}

// A text that was cut ends with a mark, and the operation says that something is
// missing.
func TestW5ShortenedIsMarkedAndCounted(t *testing.T) {
	for _, o := range outputs() {
		if o.compression != optrace.CompressionNone {
			continue
		}
		dir := t.TempDir()
		mapping := keepAll()
		exp := newFile(t, filepath.Join(dir, "ops.x"), o.fileOptions(optrace.WithMapping(mapping))...)
		proc := newProcessor(t, exp)
		large := spantest.Operation(1)
		large.Attributes = append(large.Attributes, attribute.String("note", strings.Repeat("ü", 9<<20)))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		proc.OnEnd(large.Snapshot())
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, b := exp.Stats().Shortened, proc.Stats().Shortened; a != 1 || b != 1 {
			t.Errorf("%v: %d and %d records count as shortened, want 1", o, a, b)
		}
		found := false
		for rec, err := range (ingest.Options{Mapping: mapping}).Open(dir).Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Entry == nil || rec.Entry.Step.V != 1 {
				continue
			}
			if rec.Entry.Warn&op.WarnDroppedAttributes == 0 {
				t.Errorf("%v: the operation does not say that something is missing", o)
			}
			for _, a := range rec.Entry.Attrs {
				if a.Key == "note" {
					found = strings.HasSuffix(a.Value, "ü…") && len(a.Value) <= 64<<10
				}
			}
		}
		if !found {
			t.Errorf("%v: the beginning of the text is missing, or its mark", o)
		}
	}
}

// A batch of any size is written in messages that can be read.
func TestW5LargeBatches(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	n := cases.Count(t, 100, 512) // of 200 KiB: at least two messages
	for o := range cases.Of(t, 3, outputs()) {
		t.Run(o.String(), func(t *testing.T) {
			dir := t.TempDir()
			exp := newFile(t, filepath.Join(dir, "ops.x"), o.fileOptions(optrace.WithMapping(keepAll()))...)
			var spans []sdktrace.ReadOnlySpan
			for i := range n {
				s := spantest.Operation(i)
				s.Attributes = append(s.Attributes, attribute.String("note", noise(100<<10)), attribute.String("more", noise(100<<10)))
				spans = append(spans, s.Snapshot())
			}
			export(t, exp, spans...)
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			found := findIn(t, dir)
			if got := found.Operations(); got != int64(n) || found.Malformed > 0 || exp.Stats().Written != uint64(n) {
				t.Errorf("%d operations and %d unreadable records, with %+v", got, found.Malformed, exp.Stats())
			}
		})
	}
}

// A batch that is written in parts counts each part as what became of it.
func TestW5LargeBatchThatFailsInPart(t *testing.T) {
	var out bytes.Buffer
	writes := 0
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes == 2 {
			return 0, errDisk
		}
		return out.Write(p)
	}), optrace.WithMapping(keepAll()))
	var spans []sdktrace.ReadOnlySpan
	for i := range 100 {
		s := spantest.Operation(i)
		s.Attributes = append(s.Attributes, manyAttributes(1, 500<<10)...)
		spans = append(spans, s.Snapshot())
	}
	if err := exp.ExportSpans(context.Background(), spans); err == nil {
		t.Error("no error")
	}
	if err := exp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := spantest.ReadWhole(t, out.Bytes())
	if uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped || st.Recorded != 100 || st.Dropped == 0 || writes < 4 {
		t.Errorf("%d entries, %d lost in %d writes, with %+v", len(rec.Entries), rec.Lost(), writes, st)
	}
}
