package ingest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// The cost of damage at one place in operations and other spans: one record, and the next one for damage between two.
const (
	costLine  = 2  // a record a line
	costSpan  = 2  // a record a span, in a document
	costBatch = 13 // a record a batch of the exporter
	costRest  = 99 // all that is behind the damage
)

// written returns a file of the exporter: thirty batches of twelve operations and a root.
func written(t *testing.T, f optrace.Format) []byte {
	t.Helper()
	var file bytes.Buffer
	exp := check.Must(optrace.NewExporter(&file, optrace.WithFormat(f)))(t)
	p := check.Must(optrace.NewProcessor(exp))(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	for range 30 {
		ctx, root := tp.Tracer("engine").Start(t.Context(), "POST /predict")
		for i := range 12 {
			_, s := tp.Tracer("engine").Start(ctx, "op")
			s.SetAttributes(attribute.String("tensor.op.name", "matmul"), attribute.Int("tensor.step", i),
				attribute.String("tensor.device.id", "cuda:0"), attribute.IntSlice("tensor.output.shape",
					[]int{64, 256}))
			s.End()
		}
		root.End()
		check.OK(t, p.ForceFlush(t.Context()))
	}
	check.OK(t, tp.Shutdown(t.Context()))
	return file.Bytes()
}

func find(path string, o ingest.Options) optest.Found { return optest.Find(o.Open(path).Records()) }

// damages are the kinds of damage at a place.
var damages = map[string]func(text []byte, at int) []byte{
	"a bit": func(text []byte, at int) []byte {
		text = bytes.Clone(text)
		text[at] ^= 1 << (at % 8)
		return text
	},
	"zeros": func(text []byte, at int) []byte {
		text = bytes.Clone(text)
		clear(text[at:min(len(text), at+16)])
		return text
	},
	"a write cut off in front": func(text []byte, at int) []byte {
		return slices.Concat(text[:at], []byte("\n"), text)
	},
}

// Files are damaged at many places of their first 64 KiB, one at a time. Only a document with a damaged head may be
// refused. The losses are within docs/reliability.md, rows of reading.
func TestDamageCostsItsRecord(t *testing.T) {
	sample := func(path string) []byte {
		return check.Must(os.ReadFile(path))(t)
	}
	for _, test := range []struct {
		name string
		text []byte
		cost int
		// between is the cost of damage outside the lists of spans, a small part of an OTLP JSON document.
		between int
		// head is the size of the part of a document that tells its format.
		head int
	}{
		{"entries", written(t, optrace.FormatEntries), costLine, 0, 0},
		{"OTLP JSON", written(t, optrace.FormatOTLPJSON), costSpan, 13, 0},
		{"OTLP protobuf", written(t, optrace.FormatOTLPProto), costBatch, 0, 0},
		{"collector, JSON", sample("otlp/testdata/gate_off/traces.jsonl"), costSpan, 18, 0},
		{"collector, JSON in zstd frames", sample("otlp/testdata/gate_off/traces.jsonl.zst"), 18, 0, 0},
		{"collector, protobuf", sample("otlp/testdata/gate_off/traces.pb"), 18, 0, 0},
		{"collector, protobuf in zstd frames", sample("otlp/testdata/gate_off/traces.pb.zst"), 18, 0, 0},
		{"Jaeger v1, trace", sample("jaeger/testdata/v2.20.trace.json"), costSpan, 0, 64},
		{"Jaeger v1, search", sample("jaeger/testdata/v2.20.search.json"), costSpan, 0, 64},
		{"Kineto", sample("kineto/testdata/train.json"), costSpan, 0, 256},
		{"ONNX Runtime", sample("ort/testdata/squeeze.json"), costSpan, 0, 128},
		{"stdouttrace, lines", sample("stdouttrace/testdata/spans.jsonl"), costLine, 0, 0},
		{"stdouttrace, spread", sample("stdouttrace/testdata/spans.pretty.json"), costSpan, 0, 64},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "input")
			count := func(text []byte) optest.Found {
				check.OK(t, os.WriteFile(path, text, 0o600))
				return find(path, ingest.Options{})
			}
			whole := count(test.text)
			if whole.Entries == 0 || whole.Malformed > 0 || whole.Err != nil {
				t.Fatalf("undamaged: %+v", whole)
			}
			places := cases.Count(t, 5, 50)
			var outside, silent int
			for kind, damage := range damages {
				for i := range places {
					at := max(test.head, i*min(len(test.text), 64<<10)/places)
					got := count(damage(test.text, at))
					lost := whole.Entries + whole.Spans - got.Entries - got.Spans
					switch {
					case got.Err != nil:
						t.Errorf("%s at byte %d: refused: %v", kind, at, got.Err)
					case lost > test.cost && lost <= test.between:
						outside++
					case lost > test.cost:
						t.Errorf("%s at byte %d: %d lost, at most %d expected", kind, at, lost, test.cost)
					case lost > 0 && got.Malformed == 0:
						silent++
					}
				}
			}
			// The first place is outside the lists in all kinds of damage, and another one may be. A flipped bit in a
			// name or field number gives another valid record.
			if outside > 2*len(damages)+places/10 || silent > 2 {
				t.Errorf("of %d places %d cost a whole batch, and %d were not reported", places, outside, silent)
			}
		})
	}
}

// A file system may leave a page of zeros in front after a loss of power.
func TestZerosInFront(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input")
	for name, format := range map[string]optrace.Format{
		"entries": optrace.FormatEntries, "OTLP JSON": optrace.FormatOTLPJSON, "OTLP protobuf": optrace.FormatOTLPProto,
	} {
		text := written(t, format)
		for _, zeros := range []int{4096, 4097, 3 << 20} {
			if format == optrace.FormatOTLPProto && zeros > 1<<20 {
				continue
			}
			check.OK(t, os.WriteFile(path, append(make([]byte, zeros), text...), 0o600))
			if got := find(path, ingest.Options{}); got.Err != nil || got.Entries+got.Spans < 390-costBatch {
				t.Errorf("%s behind %d zeros: %+v", name, zeros, got)
			}
		}
	}
}

// Files of other kinds are refused, even with lines or members of recordings.
func TestForeignFilesAreRefused(t *testing.T) {
	executable := check.Must(os.Executable())(t)
	entry := `{"step":0,"operation":"relu","device_id":"cuda:0","duration_us":1}`
	span := `{"traceID":"1","spanID":"2","operationName":"GET","processID":"p1"}`
	dir := t.TempDir()
	files := map[string]string{
		"prose with an example": "To record:\n\n" + entry + "\n\nis a line.\n",
		"a CSV":                 "id,name,duration_us\n1,relu,2\n2,matmul,3\n",
		"a CSV with JSON":       "id,json\n1," + entry + "\n2," + entry + "\n",
		"a log":                 "2026-01-02 INFO start " + entry + "\n2026-01-02 INFO end " + entry + "\n",
		"a page":                "<!DOCTYPE html><title>Report</title><script>" + entry + "</script>",
		"other JSON":            `{"name":"optrace","dependencies":{"operation":"1"}}`,
		"JSON around spans":     `{"hits":[` + span + "," + span + `]}`,
		"a PNG":                 "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00",
		"zeros":                 strings.Repeat("\x00", 100_000),
		"nested brackets":       strings.Repeat("[", 100_000),
		"brace lines":           strings.Repeat("{\n", 50_000),
	}
	paths := []string{executable, "../docs/formats.md", "../docs/reliability.md", "damage_test.go", "documents_test.go",
		"../go.mod"}
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		paths = append(paths, path)
	}
	for _, path := range paths {
		if got := find(path, ingest.Options{}); got.Err == nil || got.Entries+got.Spans > 0 || got.Malformed > 0 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestNamedFormats(t *testing.T) {
	dir := t.TempDir()
	entries := `{"step":0,"operation":"relu","device_id":"cuda:0","duration_us":1}` + "\n"
	for _, test := range []struct {
		format, text string
		want         optest.Found
	}{
		{"entries", "one\ntwo\n" + entries, optest.Found{Entries: 1, Malformed: 2}},
		{"entries-jsonl", entries, optest.Found{Entries: 1}},
		{"jaeger", `{"dXta":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"x","duration":1}]}]}`,
			optest.Found{}},
		{"jaeger", `"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"x","duration":1}]}]}`,
			optest.Found{Malformed: 1}},
		{"otlp", string(written(t, optrace.FormatOTLPJSON)), optest.Found{Entries: 360, Spans: 30}},
		{"otlp-proto", string(written(t, optrace.FormatOTLPProto)), optest.Found{Entries: 360, Spans: 30}},
		{"otlp-json", "", optest.Found{}},
	} {
		path := filepath.Join(dir, "input")
		check.OK(t, os.WriteFile(path, []byte(test.text), 0o600))
		if got := find(path, ingest.Options{Format: test.format}); got != test.want {
			t.Errorf("%s of %.50q: %+v, want %+v", test.format, test.text, got, test.want)
		}
	}
	got := find(filepath.Join(dir, "input"), ingest.Options{Format: "colour"})
	if want := `unknown format "colour"; formats are entries, `; got.Err == nil || !strings.HasPrefix(got.Err.Error(),
		want) {
		t.Errorf("error %v, want %s…", got.Err, want)
	}
}

// S4 of docs/faults.md: a damaged binary or compressed file never reads as empty without an error.
func TestMutantsAreNotSilent(t *testing.T) {
	sample := func(path string) []byte {
		return check.Must(os.ReadFile(path))(t)
	}
	entries := written(t, optrace.FormatEntries)
	for name, text := range map[string][]byte{
		"Kineto, gzip":               check.Gzip(t, sample("kineto/testdata/train.json")),
		"Perfetto":                   sample("perfetto/testdata/kineto.pftrace"),
		"OTLP protobuf":              written(t, optrace.FormatOTLPProto),
		"OTLP protobuf of Collector": sample("otlp/testdata/gate_off/traces.pb"),
		"OTLP protobuf, zstd frames": sample("otlp/testdata/gate_off/traces.pb.zst"),
		"OTLP JSON, zstd frames":     sample("otlp/testdata/gate_off/traces.jsonl.zst"),
		"OTLP protobuf, one message": bytes.Join(spantest.Messages(t, written(t, optrace.FormatOTLPProto)), nil),
		"entries, gzip":              check.Gzip(t, entries),
		"entries, zstd":              zstandard(t, entries),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			optest.Mutants(t, cases.Count(t, 100, 3000), text, func(text []byte) optest.Found {
				return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
			})
		})
	}
}
