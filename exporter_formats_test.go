package optrace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

func TestOutputOptionErrors(t *testing.T) {
	type options = []optrace.FileExporterOption
	rotation := func(r optrace.Rotation) options { return options{optrace.WithRotation(r)} }
	for name, tt := range map[string]struct {
		opts options
		want string
	}{
		"format":             {options{optrace.WithFormat(9)}, "unknown format 9"},
		"compression":        {options{optrace.WithCompression(9)}, "unknown compression 9"},
		"cache":              {options{optrace.WithCacheBytes(-1)}, "cache size -1 is negative"},
		"negative size":      {rotation(optrace.Rotation{MaxBytes: -1}), "-1 is negative"},
		"negative age":       {rotation(optrace.Rotation{MaxAge: -time.Second}), "-1s is negative"},
		"negative total":     {rotation(optrace.Rotation{MaxTotalBytes: -1}), "-1 is negative"},
		"total without size": {rotation(optrace.Rotation{MaxTotalBytes: 10}), "needs rotation by size"},
		"total below size":   {rotation(optrace.Rotation{MaxBytes: 11, MaxTotalBytes: 10}), "below the file size 11"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if _, err := optrace.NewFileExporter(path, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewFileExporter returns %v, want %q", err, tt.want)
			}
			if size(path) != 0 {
				t.Error("the file has been written to")
			}
			for _, o := range tt.opts {
				opt, ok := o.(optrace.ExporterOption)
				if !ok {
					continue // for files only
				}
				if _, err := optrace.NewExporter(io.Discard, opt); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("NewExporter returns %v, want %q", err, tt.want)
				}
			}
		})
	}
	exp, err := optrace.NewFileExporter(filepath.Join(t.TempDir(), "ops.jsonl"), optrace.WithRotation(optrace.Rotation{}), nil)
	if err != nil {
		t.Fatalf("limits that are off: %v", err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOutputNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{optrace.FormatEntries.String(), "entries"},
		{optrace.FormatOTLPJSON.String(), "otlp-json"},
		{optrace.FormatOTLPProto.String(), "otlp-proto"},
		{optrace.Format(7).String(), "Format(7)"},
		{optrace.CompressionNone.String(), "none"},
		{optrace.CompressionGzip.String(), "gzip"},
		{optrace.CompressionZstd.String(), "zstd"},
		{optrace.Compression(7).String(), "Compression(7)"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// OTLP has no place for gaps: an exporter that only has those to write writes
// nothing, and the next batch is whole.
func TestOutputWithoutGaps(t *testing.T) {
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		var out bytes.Buffer
		fail := true
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			if fail {
				return 0, errDisk
			}
			return out.Write(p)
		}), optrace.WithFormat(f))
		if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		fail = false
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := bytes.TrimSpace(out.Bytes()); len(got) != 0 {
			t.Errorf("%v: Shutdown wrote %q", f, got)
		}
		checkBooks(t, "exporter", exp.Stats())
	}
}

// output is a combination of options that say what is written.
type output struct {
	format      optrace.Format
	compression optrace.Compression
}

func (o output) String() string { return fmt.Sprintf("%v %v", o.format, o.compression) }

// options returns o's options and others.
func (o output) options() []optrace.ExporterOption {
	return []optrace.ExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)}
}

// fileOptions returns the options of a file exporter: those of o, and others.
func (o output) fileOptions(others ...optrace.FileExporterOption) []optrace.FileExporterOption {
	return append([]optrace.FileExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)}, others...)
}

// healsLines reports whether what was cut off is given up, up to its last whole
// line. In other outputs the rest of a batch is written later.
func (o output) healsLines() bool {
	return o.compression == optrace.CompressionNone && o.format == optrace.FormatEntries
}

// outputs returns all combinations.
func outputs() (all []output) {
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		for _, c := range []optrace.Compression{optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd} {
			all = append(all, output{f, c})
		}
	}
	return all
}

// batchOf returns a batch of operations with the steps 0 to n-1, as written.
func (o output) batchOf(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := newExporter(tb, &out, o.options()...).ExportSpans(tb.Context(), spantest.Operations(n)); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

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
		var traces tracepb.TracesData
		if err := proto.Unmarshal(m, &traces); err != nil {
			t.Fatal(err)
		}
		for _, rs := range traces.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				spans += len(ss.Spans)
			}
		}
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

// The rest of a batch is written by Shutdown, or counts as dropped.
func TestOutputRestAtShutdown(t *testing.T) {
	for _, o := range outputs() {
		if o.healsLines() {
			continue
		}
		for _, recovers := range []bool{true, false} {
			w := &spantest.FaultyWriter{N: 20, Fault: func(n int) (int, error) { return n, errDisk }, Broken: !recovers}
			exp := newExporter(t, w, o.options()...)
			proc := newProcessor(t, exp)
			for _, s := range spantest.Operations(3) {
				proc.OnEnd(s)
			}
			if err := proc.ForceFlush(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("%v: flushing returns %v", o, err)
			}
			if err := proc.Shutdown(t.Context()); recovers == (err != nil) {
				t.Errorf("%v: Shutdown returns %v with a writer that recovers: %v", o, err, recovers)
			}
			for what, st := range map[string]uint64{"exporter": exp.Stats().Written, "processor": proc.Stats().Written} {
				if want := map[bool]uint64{true: 3, false: 0}[recovers]; st != want {
					t.Errorf("%v: the %s counts %d as written, want %d", o, what, st, want)
				}
			}
			checkBooks(t, "exporter", exp.Stats())
			checkBooks(t, "processor", proc.Stats())
			if recovers {
				if got := slices.Sorted(slices.Values(spantest.Read(t, w.Bytes()).Steps())); !slices.Equal(got, spantest.UpTo(3)) {
					t.Errorf("%v: entries %v", o, got)
				}
			}
		}
	}
}

// keepAll returns a mapping under which entries keep all attributes.
func keepAll() *attr.Mapping {
	m := new(attr.Mapping)
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
	for name := range cases.Of(t, 2, slices.Sorted(maps.Keys(enlargements))) {
		enlarge := enlargements[name]
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
	cases.Rare(t)
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
	const n = 100
	for i := range n {
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
	if uint64(len(rec.Entries)) != st.Written || rec.Lost() != st.Dropped || st.Recorded != n || st.Dropped == 0 || writes < 4 {
		t.Errorf("%d entries, %d lost in %d writes, with %+v", len(rec.Entries), rec.Lost(), writes, st)
	}
}
