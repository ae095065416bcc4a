package optrace_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// spanFault is a row of docs/faults.md about one span: what of it the line of
// entries holds, and the warnings that the entry has and that a report counts.
type spanFault struct {
	row    string
	change func(*tracetest.SpanStub)
	line   []string // parts of the line
	warn   []string
	otlp   []string // in place of warn in a report on OTLP, nil for the same
}

// attributed returns a change that gives a span the name of an operation and attrs.
func attributed(attrs ...attribute.KeyValue) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) {
		s.Attributes = append([]attribute.KeyValue{tensorconv.OpName("matmul")}, attrs...)
	}
}

// shaped returns a change that gives a span the value for the shape of its output.
func shaped(v attribute.Value) func(*tracetest.SpanStub) {
	return attributed(attribute.KeyValue{Key: op.KeyOutputShape, Value: v})
}

func shapeFaults() []spanFault {
	badShape, noShape := []string{"bad_shape"}, []string{`"output_shape":null`, `"output_elements":null`, `"memory_bytes":null`}
	dims := func(dims ...int64) func(*tracetest.SpanStub) { return shaped(attribute.Int64SliceValue(dims)) }
	floats := func(dims ...float64) func(*tracetest.SpanStub) { return shaped(attribute.Float64SliceValue(dims)) }
	many := make([][]int64, op.MaxInputs+1)
	const huge = 1 << 62
	return []spanFault{
		{"A1 text", shaped(attribute.StringValue("float32")), noShape, badShape, nil},
		{"A1 bool", shaped(attribute.BoolValue(true)), noShape, badShape, nil},
		{"A1 number", shaped(attribute.Float64Value(2)), noShape, badShape, nil},
		{"A1 map", shaped(attribute.MapValue(attribute.Int64("0", 2))), noShape, badShape, nil},
		{"A1 another encoding", shaped(attribute.StringValue("2x3")), []string{`"output_shape":[2,3]`, `"output_elements":6`}, nil, nil},
		{"A2 unknown until run time", dims(-1, 3),
			[]string{`"output_shape":[-1,3]`, `"output_elements":null`, `"memory_bytes":null`}, []string{"dynamic_dim"}, nil},
		{"A2 below -1", dims(2, -2), noShape, badShape, nil},
		{"A3 elements", dims(huge, 8), []string{`"output_elements":null`, `"memory_bytes":null`}, []string{"overflow"}, nil},
		{"A3 bytes", dims(huge), []string{`"output_elements":4611686018427387904`, `"memory_bytes":null`}, []string{"overflow"}, nil},
		{"A3 zero in front", dims(0, huge, 8), []string{`"output_elements":0`, `"memory_bytes":0`}, nil, nil},
		{"A3 zero behind", dims(huge, 8, 0), []string{`"output_elements":0`, `"memory_bytes":0`}, nil, nil},
		{"A4 scalar", dims(), []string{`"output_shape":[]`, `"output_elements":1`}, nil, nil},
		{"A4 none", attributed(), noShape, nil, nil},
		{"A5 rank", dims(make([]int64, op.MaxRank+1)...), []string{`"output_elements":null`}, []string{"shape_truncated"}, nil},
		{"A5 inputs", attributed(tensorconv.InputShapes(many...)), nil, []string{"shape_truncated"}, nil},
		{"A6 integral", floats(2, 1<<53), []string{`"output_shape":[2,9007199254740992]`}, nil, nil},
		{"A6 fraction", floats(2.5), noShape, badShape, nil},
		// OTLP is written for backends too, of which some refuse what holds a NaN.
		{"A6 NaN", floats(math.NaN()), noShape, badShape, []string{"dropped_attributes"}},
		{"A6 large", floats(1e30), noShape, badShape, nil},
		{"A7 twice", attributed(tensorconv.Step(1), tensorconv.Step(2)), []string{`"step":2`}, nil, nil},
		{"A7 empty key", attributed(attribute.String("", "x")), nil, nil, nil},
		{"A7 a size of its own", attributed(tensorconv.OutputShape(4), tensorconv.MemorySize(100)), []string{`"memory_bytes":100`}, nil, nil},
		{"A8 negative", attributed(tensorconv.OutputShape(4), tensorconv.MemorySize(-1)),
			[]string{`"output_elements":4`, `"memory_bytes":null`}, []string{"bad_memory"}, nil},
		{"A8 fraction", attributed(attribute.Float64(op.KeyMemory, 1.5)), []string{`"memory_bytes":null`}, []string{"bad_memory"}, nil},
		{"A8 large", attributed(attribute.Float64(op.KeyMemory, 1e19)), []string{`"memory_bytes":null`}, []string{"bad_memory"}, nil},
	}
}

func timeFaults() []spanFault {
	at := spantest.Epoch
	lasting := func(start, end time.Time) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) { s.StartTime, s.EndTime = start, end }
	}
	noStart := []string{`"duration_us":0`}
	return []spanFault{
		{"B1 end before the start", lasting(at, at.Add(-5*time.Second)),
			[]string{`"duration_us":0,`, `"duration_ns":0,`}, []string{"neg_duration"}, nil},
		{"B2 no duration", lasting(at, at), []string{`"duration_us":0,`, `"duration_ns":0,`}, nil, nil},
		{"B3 below a microsecond", lasting(at, at.Add(125)), []string{`"duration_us":0.125,`, `"duration_ns":125,`}, nil, nil},
		{"B4 no times", lasting(time.Time{}, time.Time{}), noStart, []string{"bad_time"}, nil},
		{"C6 no ids", func(s *tracetest.SpanStub) { s.SpanContext, s.Parent = trace.SpanContext{}, trace.SpanContext{} },
			[]string{`"operation":"matmul"`}, []string{"bad_id"}, nil},
		{"G4 bytes that are no UTF-8", attributed(tensorconv.OpPath("a\xffb")), []string{"\"path\":\"a\ufffdb\""}, []string{"invalid_utf8"},
			[]string{}}, // the writer has put U+FFFD there
		{"G4 NUL", attributed(tensorconv.OpPath("a\x00b")), []string{`"path":"a\u0000b"`}, nil, nil},
	}
}

// What is wrong with a span is marked on its entry and counted in the report,
// whatever the format; the operation is kept, and what is not known is null.
func TestFaultsOfSpans(t *testing.T) {
	faults := slices.Concat(shapeFaults(), timeFaults())
	for _, fault := range faults {
		t.Run(fault.row, func(t *testing.T) {
			stub := spantest.Operation(0)
			stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul")}
			fault.change(&stub)
			for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
				path := filepath.Join(t.TempDir(), "ops")
				if err := os.WriteFile(path, exported(t, f, tracetest.SpanStubs{stub}.Snapshots()), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := analyze.Run(t.Context(), ingest.Open(path), analyze.Options{})
				if err != nil {
					t.Fatal(err)
				}
				warnings, counts := fault.warn, make(map[string]int64)
				if fault.otlp != nil && (f == optrace.FormatOTLPJSON || f == optrace.FormatOTLPProto) {
					warnings = fault.otlp
				}
				for _, w := range warnings {
					counts[w] = 1
				}
				if diff := cmp.Diff(counts, r.Input.Warnings); diff != "" || r.Input.Entries != 1 || r.Input.Malformed != 0 {
					t.Errorf("%v: %d entries, %d malformed, warnings (-want +got):\n%s", f, r.Input.Entries, r.Input.Malformed, diff)
				}
			}
			checkFaultyLine(t, stub, fault)
		})
	}
}

// checkFaultyLine checks the line of entries.
func checkFaultyLine(t *testing.T, stub tracetest.SpanStub, fault spanFault) {
	t.Helper()
	var line string
	for l := range bytes.Lines(exported(t, optrace.FormatEntries, tracetest.SpanStubs{stub}.Snapshots())) {
		if bytes.Contains(l, []byte(`"operation":`)) {
			line = string(l)
		}
	}
	want := fault.line
	if len(fault.warn) > 0 {
		want = append(slices.Clone(want), `"warn":["`+strings.Join(fault.warn, `","`)+`"]`)
	} else if strings.Contains(line, `"warn"`) {
		t.Errorf("a warning: %s", line)
	}
	for _, part := range want {
		if !strings.Contains(line, part) {
			t.Errorf("%s is not in %s", part, line)
		}
	}
	if strings.Contains(line, "NaN") {
		t.Errorf("a NaN in JSON: %s", line)
	}
}

// In one batch, whose encoder remembers attributes, each span has its own warnings.
func TestFaultsOfSpansInOneBatch(t *testing.T) {
	want := make(map[string]int64)
	var stubs tracetest.SpanStubs
	faults := slices.Concat(shapeFaults(), timeFaults())
	for i, fault := range faults {
		stub := spantest.Operation(i)
		stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul")}
		fault.change(&stub)
		stubs = append(stubs, stub)
		for _, w := range fault.warn {
			want[w]++
		}
	}
	var out bytes.Buffer
	exp := newExporter(t, &out)
	if err := exp.ExportSpans(t.Context(), stubs.Snapshots()); err != nil {
		t.Fatal(err)
	}
	rec := spantest.ReadWhole(t, out.Bytes())
	got := make(map[string]int64)
	for _, e := range rec.Entries {
		for w := range e.Warn.All() {
			got[w.String()]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(rec.Entries) != len(faults) {
		t.Errorf("%d of %d entries, warnings (-want +got):\n%s", len(rec.Entries), len(faults), diff)
	}
	if st := exp.Stats(); st.Written != uint64(len(faults)) {
		t.Errorf("stats %+v", st)
	}
}
