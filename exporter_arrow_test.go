package optrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/arrow"
	"github.com/optrace/optrace/tensorconv"
)

// arrowOption is the format.
var arrowOption = optrace.WithFormat(optrace.FormatArrow)

// withoutWriters takes out what differs from one exporter to another.
func withoutWriters(rec *recording) *recording {
	for i := range rec.batches {
		rec.batches[i].Writer = ""
	}
	return rec
}

var compareRecordings = cmp.AllowUnexported(recording{})

// A stream of Arrow holds what entries JSON Lines hold, of spans of any content.
func TestArrowHoldsWhatEntriesHold(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for round := range 300 {
		input := make([]byte, 4000)
		for i := range input {
			input[i] = byte(random.Uint32())
		}
		r := &spantest.Random{Data: input, Keys: []string{
			op.KeyStep, op.KeyDevice, op.KeyDType, op.KeyInputShapes, op.KeyOutputShape, op.KeyLaunch, "kept",
		}}
		var m op.Mapping
		m.Keep("kept")
		var lines, stream bytes.Buffer
		options := []optrace.ExporterOption{nil}
		if round%2 == 1 {
			options[0] = optrace.WithMapping(&m)
		}
		exporters := []*optrace.Exporter{
			newExporter(t, &lines, options...), newExporter(t, &stream, append(options, arrowOption)...),
		}
		for range 3 {
			var stubs tracetest.SpanStubs
			for range 8 {
				stub := r.Operation()
				if r.Below(3) == 0 {
					stub = r.Span()
				}
				stubs = append(stubs, stub, stub)
			}
			for _, exp := range exporters {
				if err := exp.ExportSpans(t.Context(), append(stubs.Snapshots(), nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want, got := withoutWriters(read(t, lines.Bytes())), withoutWriters(readArrow(t, stream.Bytes()))
		if diff := cmp.Diff(want, got, compareRecordings); diff != "" {
			t.Fatalf("round %d (-entries +arrow):\n%s", round, diff)
		}
	}
}

// As above, through a Processor with steps, roots and interleaved requests: both
// formats are given the same operations, and one of them is converted to the other.
func TestArrowThroughProcessor(t *testing.T) {
	var lines, stream spantest.Buffer
	toLines := newProcessor(t, newExporter(t, &lines))
	toStream := newProcessor(t, newExporter(t, &stream, arrowOption))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(toLines), sdktrace.WithSpanProcessor(toStream),
		sdktrace.WithResource(spantest.Service("trainer")))
	tracer := optrace.NewTracer(tp)
	for i := range 30 {
		ctx, request := tp.Tracer("app").Start(t.Context(), fmt.Sprint("POST /", i%3, []string{"", "\xff"}[i%2]))
		ctx, other := tp.Tracer("app").Start(ctx, "layer")
		for j := range 40 {
			_, o := tracer.Start(optrace.ContextWithStep(ctx, int64(i/2)), fmt.Sprint("op", j%7), fmt.Sprint("cuda:", (i+j)%4))
			o.In(int64(j%5), 64).Out(64).DType(op.F16)
			if j == 11 {
				o.Err(errors.New("out of memory"))
			}
			o.End()
		}
		other.End()
		request.End()
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, got := withoutWriters(read(t, lines.Bytes())), withoutWriters(readArrow(t, stream.Bytes()))
	if len(want.entries) != 1200 || len(want.spans) != 60 {
		t.Fatalf("%d entries and %d spans", len(want.entries), len(want.spans))
	}
	bySpan := func(a, b *op.Entry) int { return bytes.Compare(a.SpanID[:], b.SpanID[:]) }
	for _, rec := range []*recording{want, got} {
		slices.SortFunc(rec.entries, bySpan)
		slices.SortFunc(rec.spans, func(a, b op.Span) int { return bytes.Compare(a.SpanID[:], b.SpanID[:]) })
		rec.batches, rec.inBatch = nil, nil
	}
	if diff := cmp.Diff(want, got, compareRecordings); diff != "" {
		t.Errorf("(-entries +arrow):\n%s", diff)
	}
}

// distinct returns n operations, no two of which have a value in common where that
// can be.
func distinct(n int) []sdktrace.ReadOnlySpan {
	var spans []sdktrace.ReadOnlySpan
	for i := range n {
		s := spantest.Operation(i)
		s.SpanContext = spantest.SpanContext(i+1, i+1)
		s.Attributes = []attribute.KeyValue{
			tensorconv.OpName(fmt.Sprint("op", i)), tensorconv.DeviceID(fmt.Sprint("cuda:", i)), tensorconv.Step(int64(i)),
			tensorconv.OutputShape(int64(i)), tensorconv.InputShapes([]int64{int64(i), 2}), tensorconv.OpPath(fmt.Sprint("layer", i)),
		}
		spans = append(spans, s.Snapshot())
	}
	return spans
}

// More operations than a batch takes, whose values are all distinct, twice over: the
// exporter's memory of them is exhausted on the way.
func TestArrowManyDistinctValues(t *testing.T) {
	const n = 40_000
	var out bytes.Buffer
	exp := newExporter(t, &out, arrowOption)
	spans := distinct(n)
	for range 2 {
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
	}
	rec := readArrow(t, out.Bytes())
	checkBatches(t, rec, false)
	if len(rec.entries) != 2*n || len(rec.malformed) > 0 || exp.Stats().Written != 2*n {
		t.Fatalf("%d entries, %v, stats %+v", len(rec.entries), rec.malformed, exp.Stats())
	}
	for i, e := range rec.entries {
		i %= n
		if e.Operation != fmt.Sprint("op", i) || e.Step != op.Known(int64(i)) || e.DeviceID != fmt.Sprint("cuda:", i) ||
			e.Path != fmt.Sprint("layer", i) || !slices.Equal(e.OutputShape, op.Shape{int64(i)}) {
			t.Fatalf("entry %d is %+v", i, e)
		}
	}
}

// A Processor writes batches of some 16,384 operations, or as many as its memory
// allows.
func TestArrowBatches(t *testing.T) {
	for _, test := range []struct {
		name     string
		bytes    int64
		distinct bool
		min, max int64 // entries in a batch that is full
	}{
		{"as they come", 64 << 20, false, 15_000, 16_384},
		{"all distinct", 64 << 20, true, 1000, 6000},
		{"in little memory", 1 << 20, false, 1000, 5000},
	} {
		t.Run(test.name, func(t *testing.T) {
			const n = 50_000
			var out spantest.Buffer
			proc := newProcessor(t, newExporter(t, &out, arrowOption), optrace.WithBufferBytes(test.bytes),
				optrace.WithFlushInterval(time.Hour), optrace.WithPolicy(optrace.PolicyBlock))
			spans := distinct(n)
			if !test.distinct {
				for i := range spans {
					s := tracetest.SpanStubFromReadOnlySpan(spans[i%100])
					s.SpanContext = spantest.SpanContext(i/1000+1, i+1)
					spans[i] = s.Snapshot()
				}
			}
			for _, s := range spans {
				proc.OnEnd(s)
			}
			if err := proc.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			rec := readArrow(t, out.Bytes())
			checkBatches(t, rec, false)
			if len(rec.entries) != n || len(rec.malformed) > 0 {
				t.Fatalf("%d entries, %v", len(rec.entries), rec.malformed)
			}
			full := rec.batches[0].Entries
			if full < test.min || full > test.max {
				t.Errorf("the first of %d batches holds %d entries", len(rec.batches), full)
			}
		})
	}
}

// Texts that are longer than readers take are cut, and the entry says so.
func TestArrowLongTexts(t *testing.T) {
	const long = 17 << 20
	stub := spantest.Operation(0)
	stub.Attributes = append(slices.Clone(stub.Attributes), tensorconv.OpPath(strings.Repeat("ä", long/2)))
	var out bytes.Buffer
	exp := newExporter(t, &out, arrowOption)
	if err := exp.ExportSpans(t.Context(), append(spantest.Operations(2), stub.Snapshot())); err != nil {
		t.Fatal(err)
	}
	rec := readArrow(t, out.Bytes())
	if len(rec.malformed) > 0 || len(rec.entries) != 3 {
		t.Fatalf("%d entries, %v", len(rec.entries), rec.malformed)
	}
	if e := rec.entries[2]; len(e.Path) == 0 || len(e.Path) >= long || e.Warn == 0 {
		t.Errorf("a path of %d bytes with the warnings %v", len(e.Path), e.Warn)
	}
}

// The schema stands in front of the first batch that is written, and there only.
func TestArrowSchemaOnce(t *testing.T) {
	var out bytes.Buffer
	failures := 2
	exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
		if failures > 0 {
			failures--
			return 0, errDisk
		}
		return out.Write(p)
	}), arrowOption)
	for i := range 5 {
		if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); (err != nil) != (i < 2) {
			t.Errorf("export %d returns %v", i, err)
		}
	}
	rec := readArrow(t, out.Bytes())
	if len(rec.entries) != 6 || rec.lost() != 4 || bytes.Count(out.Bytes(), []byte("optrace.schema")) != 1 {
		t.Errorf("%d entries, gaps %v, %d schemas", len(rec.entries), rec.gaps, bytes.Count(out.Bytes(), []byte("optrace.schema")))
	}
}

// Streams that cannot be continued are left as they are, and another is begun; what
// is no stream of ours is refused.
func TestArrowReopen(t *testing.T) {
	ours, _ := output{format: optrace.FormatArrow}.batches(t, 2, 1)
	length := int(binary.LittleEndian.Uint32(ours[4:])) + 8 // of the schema
	withEnd := func() []byte {
		var b bytes.Buffer
		w := arrow.NewWriter(&b)
		if err := errors.Join(w.Entry(&op.Entry{Operation: "relu", Step: op.Known(7)}), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}()
	earlier, err := os.ReadFile("ingest/arrow/testdata/optrace-before.arrows")
	if err != nil {
		t.Fatal(err)
	}
	otherColumns := bytes.Replace(ours, []byte("world_size"), []byte("planet_sum"), 1)
	otherSchema := bytes.Replace(ours, []byte("optrace.entries/v1"), []byte("optrace.entries/v2"), 1)
	for _, test := range []struct {
		name    string
		content []byte
		files   int
	}{
		{"whole", ours, 1},
		{"the schema alone", ours[:length], 1},
		{"two streams without an end", slices.Concat(ours, ours), 1},
		{"within the schema", ours[:length-1], 2},
		{"within the first prefix", ours[:3], 2},
		{"within a batch", ours[:len(ours)-1], 2},
		{"with the mark of the end", withEnd, 2},
		{"of another version", otherColumns, 2},
		{"of an earlier build", earlier[:len(earlier)-len(arrowipc.End())], 2},
		{"of another schema", otherSchema, 0},
		{"with text behind the schema", append(slices.Clone(ours[:length]), "text behind it"...), 2},
		{"damaged", append([]byte("\xff\xff\xff\xff\x08\x00\x00\x00"), ours[8:]...), 2},
		{"a file", append([]byte("ARROW1\x00\x00"), ours...), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ops.arrows")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			exp, err := optrace.NewFileExporter(path, arrowOption)
			if (err != nil) != (test.files == 0) {
				t.Fatal(err)
			}
			if err == nil {
				export(t, exp, spantest.Operations(1)...)
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			names, contents := files(t, dir)
			if len(names) != max(1, test.files) || !bytes.HasPrefix(contents[0], test.content) {
				t.Fatalf("files %q, the first of %d bytes", names, len(contents[0]))
			}
			if test.files == 2 && len(contents[0]) != len(test.content) {
				t.Error("the file before has changed")
			}
			if rec := contents[len(contents)-1]; test.files > 0 && len(readArrow(t, rec).malformed) > 0 {
				t.Errorf("what is written cannot be read: %v", readArrow(t, rec).malformed)
			}
		})
	}
}

// What is cut off at any byte shows, and costs one batch.
func TestArrowCutOff(t *testing.T) {
	first, second := output{format: optrace.FormatArrow}.batches(t, 20, 30)
	stream := slices.Concat(first, second)
	for n := len(first) + 1; n < len(stream); n += 13 {
		path := filepath.Join(t.TempDir(), "ops.arrows")
		if err := os.WriteFile(path, stream[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		entries, torn, missing := 0, 0, int64(0)
		for rec, err := range ingest.Open(path).Records() {
			var syntax *op.SyntaxError
			switch {
			case errors.As(err, &syntax) && syntax.Truncated:
				torn++
			case err != nil:
				t.Fatal(err)
			case rec.Entry != nil:
				entries++
				missing--
			case rec.Batch != nil:
				missing += rec.Batch.Entries
			}
		}
		// A head without its operations says how many are missing.
		if entries != 20 || torn == 0 && missing != 30 {
			t.Fatalf("cut off at byte %d of %d: %d entries, %d errors, %d entries missing", n, len(stream), entries, torn, missing)
		}
	}
}

// Two exporters write one file, and rotate it.
func TestArrowSharedConcurrentSafe(t *testing.T) {
	dir := t.TempDir()
	rotate := optrace.WithRotation(optrace.Rotation{MaxBytes: 60_000})
	written := exportShared(t, filepath.Join(dir, "ops.arrows"), arrowOption, rotate)
	n := 0
	for rec, err := range ingest.Open(dir).Records() {
		if err != nil {
			t.Error(err)
		}
		if rec.Entry != nil {
			n++
		}
	}
	if n != written {
		t.Errorf("%d entries, want %d", n, written)
	}
}

// The format and the compression go together, or are refused.
func TestArrowCompressions(t *testing.T) {
	for _, test := range []struct {
		f    optrace.Format
		c    optrace.Compression
		want bool
	}{
		{optrace.FormatArrow, optrace.CompressionNone, true},
		{optrace.FormatArrow, optrace.CompressionLZ4, true},
		{optrace.FormatArrow, optrace.CompressionZstd, true},
		{optrace.FormatArrow, optrace.CompressionGzip, false},
		{optrace.FormatEntries, optrace.CompressionLZ4, false},
		{optrace.FormatOTLPProto, optrace.CompressionLZ4, false},
	} {
		_, err := optrace.NewExporter(io.Discard, optrace.WithFormat(test.f), optrace.WithCompression(test.c))
		if (err == nil) != test.want {
			t.Errorf("%v with %v: %v", test.f, test.c, err)
		}
	}
}
