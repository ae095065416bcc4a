package optrace_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// output is a combination of format, compression and rotation.
type output struct {
	format      optrace.Format
	compression optrace.Compression
}

func (o output) String() string { return fmt.Sprintf("%v %v", o.format, o.compression) }

// options returns o's options and others.
func (o output) options(others ...optrace.ExporterOption) []optrace.ExporterOption {
	return append([]optrace.ExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)},
		others...)
}

// outputs returns all combinations.
func outputs() (all []output) {
	for _, f := range allFormats {
		for _, c := range []optrace.Compression{optrace.CompressionNone, optrace.CompressionGzip,
			optrace.CompressionZstd} {
			all = append(all, output{f, c})
		}
	}
	return all
}

// exportTo appends operations with the steps 0 to n-1 to a file, like a separate process.
func (o output) exportTo(tb testing.TB, path string, n int) {
	tb.Helper()
	exp := newFile(tb, path, o.options()...)
	export(tb, exp, spantest.Operations(n)...)
	shutdown(tb, exp)
}

// exported returns one batch of spans in a format.
func exported(tb testing.TB, f optrace.Format, spans []sdktrace.ReadOnlySpan) []byte {
	tb.Helper()
	var out bytes.Buffer
	check.OK(tb, newExporter(tb, &out, optrace.WithFormat(f)).ExportSpans(tb.Context(), spans))
	return out.Bytes()
}

func TestOTLPGolden(t *testing.T) {
	failed := spantest.Operation(1)
	failed.Status = sdktrace.Status{Code: codes.Error, Description: "out of memory"}
	failed.Events = []sdktrace.Event{{Name: "exception", Time: spantest.Epoch}}
	spans := tracetest.SpanStubs{spantest.Operation(0), failed, spantest.Request()}.Snapshots()
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		t.Run(f.String(), func(t *testing.T) {
			golden.Check(t, filepath.Join("testdata", "exporter_"+f.String()), exported(t, f, spans))
		})
	}
}

// keepAll returns a mapping that keeps all attributes in entries.
func keepAll() *attr.Mapping {
	m := new(attr.Mapping)
	m.KeepAll()
	return m
}

// noise returns n characters that compress badly.
func noise(n int) string {
	raw := make([]byte, n/2)
	_, _ = rand.Read(raw)
	return hex.EncodeToString(raw)
}

// manyAttributes returns n attributes with texts of size bytes.
func manyAttributes(n, size int) (attrs []attribute.KeyValue) {
	for i := range n {
		attrs = append(attrs, attribute.String(fmt.Sprint("note.", i), strings.Repeat("x", size)))
	}
	return attrs
}

// Readers can read every written operation. Cut operations are marked and counted. Row W5 of docs/reliability.md.
func TestLargeOperationsAreShortened(t *testing.T) {
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
		"attributes": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes,
				manyAttributes(5000, 4000)...)
		},
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
	for name := range cases.Of(t, 2, slices.Sorted(maps.Keys(enlargements))) {
		enlarge := enlargements[name]
		t.Run(name, func(t *testing.T) {
			for o := range cases.Of(t, 1, outputs()) {
				dir := t.TempDir()
				exp := newFile(t, filepath.Join(dir, "ops.x"), o.options(optrace.WithMapping(mapping))...)
				large := spantest.Operation(1)
				enlarge(&large)
				export(t, exp, spantest.Operation(0).Snapshot(), large.Snapshot(), spantest.Operation(2).Snapshot())
				shutdown(t, exp)
				found := findIn(t, dir)
				check.Equal(t, fmt.Sprintf("%v: operations there and written, and unreadable records", o),
					[3]int{3, 3, 0},
					[3]int{int(found.Of(0)), int(exp.Stats().Written), found.Malformed})
			}
		})
	}
}

// A cut text ends with a mark, and the operation has a warning.
func TestShortenedIsMarkedAndCounted(t *testing.T) {
	for _, f := range allFormats {
		path := filepath.Join(t.TempDir(), "ops.x")
		mapping := keepAll()
		exp := newFile(t, path, optrace.WithFormat(f), optrace.WithMapping(mapping))
		proc := newProcessor(t, exp)
		large := spantest.Operation(1)
		large.Attributes = append(large.Attributes, attribute.String("note", strings.Repeat("ü", 9<<20)))
		proc.OnEnd(spantest.Operation(0).Snapshot())
		proc.OnEnd(large.Snapshot())
		shutdown(t, proc)
		check.Equal(t, f.String()+": records that were shortened", [2]uint64{1, 1},
			[2]uint64{exp.Stats().Shortened, proc.Stats().Shortened})
		entries, _ := recordtest.Split(t, (ingest.Options{Mapping: mapping}).Open(path).Records())
		e := entries[slices.IndexFunc(entries, func(e *op.Entry) bool { return e.Step.V == 1 })]
		note := slices.IndexFunc(e.Attrs, func(a op.Attr) bool { return a.Key == "note" })
		text := e.Attrs[note].Value
		if e.Warn&op.WarnDroppedAttributes == 0 || !strings.HasSuffix(text, "ü…") || len(text) > 64<<10 {
			t.Errorf("%v: the text of %d bytes has no mark, or nothing is said to be missing: warnings %b", f,
				len(text), e.Warn)
		}
	}
}

// A batch of any size is written in readable messages.
func TestLargeBatchesAreWhole(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	n := cases.Count(t, 100, 512) // 200 KiB each: at least two messages
	for o := range cases.Of(t, 3, outputs()) {
		t.Run(o.String(), func(t *testing.T) {
			dir := t.TempDir()
			exp := newFile(t, filepath.Join(dir, "ops.x"), o.options(optrace.WithMapping(keepAll()))...)
			var spans []sdktrace.ReadOnlySpan
			for i := range n {
				s := spantest.Operation(i)
				s.Attributes = append(s.Attributes, attribute.String("note", noise(100<<10)),
					attribute.String("more", noise(100<<10)))
				spans = append(spans, s.Snapshot())
			}
			export(t, exp, spans...)
			shutdown(t, exp)
			found := findIn(t, dir)
			check.Equal(t, "operations there and written, and unreadable records", [3]int{n, n, 0},
				[3]int{int(found.Of(0)), int(exp.Stats().Written), found.Malformed})
		})
	}
}

// A batch written in parts counts the outcome of each part.
func TestLargeBatchThatFailsInPart(t *testing.T) {
	var out bytes.Buffer
	writes := 0
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; writes == 2 {
			return 0, errDisk
		}
		return out.Write(p)
	}), optrace.WithMapping(keepAll()))
	var spans []sdktrace.ReadOnlySpan
	const n = 100
	for i := range n {
		s := spantest.Operation(i)
		s.Attributes = append(s.Attributes, manyAttributes(1, 500<<10)...)
		spans = append(spans, s.Snapshot())
	}
	check.Says(t, "", "", exp.ExportSpans(context.Background(), spans))
	shutdown(t, exp)
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := spantest.ReadWhole(t, out.Bytes())
	if uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped || st.Recorded != n || st.Dropped == 0 ||
		writes < 4 {
		t.Errorf("%d entries, %d lost in %d writes, with %+v", len(rec.Entries), rec.Lost(), writes, st)
	}
}
