package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
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

// Files of other kinds are refused; testdata/refused.txt has small ones, even with lines or members of recordings.
func TestForeignFilesAreRefused(t *testing.T) {
	paths := []string{check.Must(os.Executable())(t), "../docs/formats.md", "../docs/reliability.md", "damage_test.go",
		"sources_test.go", "../go.mod"}
	for name, text := range map[string]string{
		"zeros":           strings.Repeat("\x00", 100_000),
		"nested brackets": strings.Repeat("[", 100_000),
		"brace lines":     strings.Repeat("{\n", 50_000),
	} {
		paths = append(paths, write(t, filepath.Join(t.TempDir(), name), []byte(text)))
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

// document is a text of two operations, first and second, in a JSON format. The marks ◂ and ▸ enclose the members of
// the first operation, the mark ¶ follows the members of the second.
type document struct {
	format string
	text   string
	name   string // the member that names the operation X
	upper  string // the same in another case
}

// documents returns the documents of testdata/documents.txt: a line with the format and the names, and the text.
func documents(t *testing.T) (all []document) {
	t.Helper()
	file := string(check.Must(os.ReadFile("testdata/documents.txt"))(t))
	for part := range strings.SplitSeq(strings.TrimPrefix(file, "=== "), "\n=== ") {
		head, text, _ := strings.Cut(part, "\n")
		cells := strings.Split(head, " | ")
		all = append(all, document{cells[0], text, cells[1], cells[2]})
	}
	return all
}

// with returns the text with members in front of the first operation's, behind them, and behind the second one's.
func (d document) with(front, behind, second string) []byte {
	comma := func(members string) string {
		if members != "" {
			return ","
		}
		return ""
	}
	return []byte(strings.NewReplacer("◂", front+comma(front), "▸", comma(behind)+behind, "¶",
		comma(second)+second).Replace(d.text))
}

func named(member, name string) string { return strings.Replace(member, "X", name, 1) }

// G9: in every format the last of equal keys counts, and case matters.
func TestKeysOfJSON(t *testing.T) {
	for _, d := range documents(t) {
		for _, test := range []struct{ name, front, behind, want string }{
			{"as it is", "", "", "first"},
			{"twice", named(d.name, "other"), "", "first"},
			{"twice, the other way round", "", named(d.name, "other"), "other"},
			{"another case in front", named(d.upper, "other"), "", "first"},
			{"another case behind", "", named(d.upper, "other"), "first"},
			{"G7 keys of a later version", `"new":{"a":[1,{"b":null}]}`, `"newer":[{}]`, "first"},
		} {
			t.Run(d.format+" "+test.name, func(t *testing.T) {
				in := ingest.Open(write(t, filepath.Join(t.TempDir(), "input"), d.with(test.front, test.behind, "")))
				names, bad, err := read(in)
				if diff := cmp.Diff([]string{test.want, "second"}, names); diff != "" || err != nil || len(bad) > 0 {
					t.Errorf("bad %q, error %v, operations (-want +got):\n%s", bad, err, diff)
				}
				if diff := cmp.Diff([]string{d.format}, in.Stats().Formats); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// G5: in every format a million brackets cost their record, and no stack.
func TestDeepNesting(t *testing.T) {
	const depth = 1_000_000
	far := `"long":"` + strings.Repeat("x", 300<<10) + `"` // behind what the format is recognised by
	for d := range cases.Of(t, 2, documents(t)) {
		for name, value := range map[string]string{
			"lists":   strings.Repeat("[", depth) + strings.Repeat("]", depth),
			"objects": strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
		} {
			t.Run(d.format+" "+name, func(t *testing.T) {
				names, bad, err := read(ingest.Open(write(t, filepath.Join(t.TempDir(), "input"),
					d.with("", far, `"deep":`+value))))
				if diff := cmp.Diff([]string{"first"}, names); diff != "" || err != nil {
					t.Errorf("error %v, operations (-want +got):\n%s", err, diff)
				}
				if len(bad) != 1 || !strings.Contains(bad[0], "nested deeper") {
					t.Errorf("bad records %q", bad)
				}
			})
		}
	}
}

// G7: the first record decides the format. Lines of other formats are counted.
func TestForeignLines(t *testing.T) {
	otlp := string(documents(t)[2].with("", "", "")) + "\n"
	for _, test := range []struct {
		name, text string
		want       []string
		skipped    int64
		bad        int
	}{
		{"OTLP among entries", entryLine + otlp + entryLine, []string{"matmul", "matmul"}, 1, 0},
		{"entries among OTLP", otlp + entryLine + otlp, []string{"first", "second", "first", "second"}, 1, 0},
		{"text among entries", entryLine + "2026-11-21 INFO started\n" + entryLine, []string{"matmul", "matmul"}, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			skipped := int64(0)
			bad := 0
			for rec, err := range ingest.Open(write(t, filepath.Join(t.TempDir(), "input"),
				[]byte(test.text))).Records() {
				switch {
				case err != nil:
					bad++
				case rec.Entry != nil:
					names = append(names, rec.Entry.Operation)
				case rec.Skipped.Reason == op.SkipUnknownRecord:
					skipped += rec.Skipped.N
				}
			}
			if diff := cmp.Diff(test.want, names); diff != "" || skipped != test.skipped || bad != test.bad {
				t.Errorf("%d skipped, %d bad, operations (-want +got):\n%s", skipped, bad, diff)
			}
		})
	}
}

// G2: a frame with a window above the limit is refused before its memory is allocated.
func TestHugeWindow(t *testing.T) {
	for _, window := range []byte{0xff, 20 << 3} { // 3.75 TiB and 1 GiB
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, 1, 0, 0} // one empty block, the last
		path := write(t, filepath.Join(t.TempDir(), "input.zst"), append(zstandard(t, entryLine), frame...))
		var err error
		n := check.Allocated(func() { _, _, err = read(ingest.Open(path)) })
		check.Says(t, fmt.Sprintf("window %#x", window), "zstd frame asks for more than 134217728 bytes", err)
		if n > 16<<20 {
			t.Errorf("window %#x: %d bytes are allocated", window, n)
		}
	}
}
