package seed_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// seedTrace is a trace with values that the seed format can express and values that
// it cannot.
func seedTrace() *seed.Trace {
	conv := seedEntry(1, "conv2d", 500, 1, 16, 30, 30)
	conv.DeviceID = "gpu:0"
	conv.InputShapes = []op.Shape{{1, 3, 32, 32}, {16, 3, 3, 3}, {}}
	odd := op.Entry{Operation: "odd \"name\"\n", Duration: 600, OutputShape: op.Shape{-1, 4}, InputShapes: []op.Shape{nil}}
	return traceOf(seedEntry(0, "matmul", 100), conv, odd).WithMetadata("model", "resnet50").WithMetadata("device", "cpu")
}

func TestSeedJSONGolden(t *testing.T) {
	golden.Check(t, "testdata/seed.json", string(seedTrace().AppendJSON(nil)))
	golden.Check(t, "testdata/seed_empty.json", string(new(seed.Trace).AppendJSON(nil)))
}

// A document whose numbers do not follow from its shapes keeps them: the seed
// gives an op without shapes one element of eight bytes.
func TestSeedJSONKeepsNumbers(t *testing.T) {
	var b bytes.Buffer
	check.OK(t, json.Indent(&b, []byte(`{"entries":[{"step":0,"operation":"relu","device_id":null,"input_shapes":[],"output_shape":[],`+
		`"duration_us":12.345,"output_elements":1,"memory_bytes":8},{"step":41,"operation":"add","device_id":"gpu:1",`+
		`"input_shapes":[[2,3],[]],"output_shape":[2,3],"duration_us":100.0,"output_elements":7,"memory_bytes":9}],`+
		`"total_duration_us":500.5,"metadata":{"model":"x"}}`), "", "  "))
	text := b.String()
	tr := check.Must(seed.Read(strings.NewReader(text), "test"))(t)
	if got := string(tr.AppendJSON(nil)); got != text {
		t.Errorf("round trip (-want +got):\n%s", cmp.Diff(text, got))
	}
	if e := tr.Entries[0]; e.OutputShape == nil || e.OutputElements != op.Known(1) || e.Warn != op.WarnNoStart || e.Kind != op.KindCompute {
		t.Errorf("first entry is %+v", e)
	}
}

func TestReadTrace(t *testing.T) {
	const entry = `{"step":0,"operation":"a","device_id":null,"input_shapes":[],"output_shape":[],"duration_us":1.5,"output_elements":1,` +
		`"memory_bytes":8}`
	for _, test := range []struct {
		name, text string
		entries    int
		total      int64
	}{
		{"empty object", `{}`, 0, 0},
		{"no total", `{"entries":[` + entry + `,` + entry + `]}`, 2, 3000},
		{"null total", `{"total_duration_us":null,"entries":[` + entry + `]}`, 1, 1500},
		{"total first", `{"total_duration_us":7,"metadata":{},"entries":[` + entry + `]}`, 1, 7000},
		{"NaN duration", `{"entries":[{"operation":"a","duration_us":null}]}`, 1, 0},
		{"unknown keys", `{"version":[1,{"a":2}],"entries":[{"operation":"a","duration_us":1,"x":{}}]}`, 1, 1000},
		{"entries twice", `{"entries":[` + entry + `,` + entry + `],"entries":[` + entry + `]}`, 3, 4500},
		{"more than an int64 of bytes", `{"entries":[{"operation":"a","duration_us":1,"memory_bytes":18446744073709551615}]}`, 1, 1000},
	} {
		tr, err := seed.Read(strings.NewReader(test.text), "test")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if len(tr.Entries) != test.entries || tr.TotalDuration != test.total {
			t.Errorf("%s: %d entries of %d ns, want %d of %d", test.name, len(tr.Entries), tr.TotalDuration, test.entries, test.total)
		}
	}
}

func TestReadTraceErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, "trace.json: unexpected end of JSON text (at byte 0)"},
		{`[]`, "trace.json: expected an object, found '[' (at byte 0)"},
		{`{"entries":[{"operation":"a"`, "trace.json: unexpected end of JSON text (at byte 28)"},
		{`{"entries":[{"duration_us":1}]}`, "trace.json: entries[0]: an entry without an operation (at byte 29)"},
		{`{"entries":[{"operation":"a"}]}`, "trace.json: entries[0]: an entry without a duration (at byte 29)"},
		{`{"entries":[{"operation":"a","duration_us":1e99}]}`, "trace.json: entries[0]: duration_us is not a duration that fits 64 bits " +
			"of nanoseconds (at byte 47)"},
		{`{"total_duration_us":1e99,"entries":[{"operation":"a","duration_us":1}]}`,
			"trace.json: total_duration_us is not a duration that fits 64 bits of nanoseconds (at byte 25)"},
		{`{"entries":{}}`, "trace.json: expected an array, found '{' (at byte 11)"},
		{`{} x`, "trace.json: expected the end of the document, found 'x' (at byte 3)"},
	} {
		_, err := seed.Parse([]byte(test.text), "trace.json")
		var syntax *op.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.text, err, test.want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := seed.Read(iotest.ErrReader(broken), "trace.json"); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A trace that is cut off is read up to there.
func TestParseTraceReadsWhatThereIs(t *testing.T) {
	text := seedTrace().AppendJSON(nil)
	entries := 0
	for size := range text {
		tr, err := seed.Parse(text[:size], "cut")
		var syntax *op.SyntaxError
		if !errors.As(err, &syntax) || !syntax.Truncated || len(tr.Entries) < entries {
			t.Fatalf("%d bytes: %d entries after %d, error %v", size, len(tr.Entries), entries, err)
		}
		entries = len(tr.Entries)
	}
	check.Equal(t, "entries", 3, entries)
}

// What the seed's members cannot hold reads back all the same.
func TestSeedJSONReadsBack(t *testing.T) {
	for _, e := range []op.Entry{
		{Operation: "none"},
		{Operation: "empty device", EmptyDevice: true},
		{Operation: "unknown device", DeviceID: "unknown"},
		{Operation: "host", Side: op.SideHost},
		{Operation: "inputs", InputShapes: []op.Shape{{2, 3}, nil, {}, nil}},
		{Operation: "scalar", OutputShape: op.Shape{}, OutputElements: op.Known(1)},
		{Operation: "no elements", OutputShape: op.Shape{0, 4}, OutputElements: op.Known(0)},
	} {
		back, err := seed.Parse(traceOf(e).AppendJSON(nil), "test")
		if err != nil || len(back.Entries) != 1 {
			t.Fatalf("%s: %d entries, error %v", e.Operation, len(back.Entries), err)
		}
		got := back.Entries[0]
		if got.HasDevice() != e.HasDevice() || got.DeviceID != e.DeviceID || got.Side != e.Side ||
			!cmp.Equal(got.OutputShape, e.OutputShape) || e.InputShapes != nil && !cmp.Equal(got.InputShapes, e.InputShapes) {
			t.Errorf("%s: read back as %+v", e.Operation, got)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(seedTrace().AppendJSON(nil))
	f.Add([]byte(`{"entries":[{"operation":"a","duration_us":0.0005,"step":"7","output_shape":[1e2]}],"metadata":{"a":{"b":1}}}`))
	f.Add([]byte(`{"entries":[{"operation":"\ud800","duration_us":1,"input_shapes":[[-1],[-2],null]}],"total_duration_us":-3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := seed.Parse(text, "fuzz")
		if err != nil {
			return
		}
		for i := range tr.Entries {
			if err := tr.Entries[i].Validate(); err != nil {
				t.Fatalf("entry %d: %v", i, err)
			}
		}
		first := tr.AppendJSON(nil)
		again, err := seed.Parse(first, "again")
		if err != nil {
			t.Fatalf("reading what was written: %v\n%s", err, first)
		}
		if second := again.AppendJSON(nil); string(first) != string(second) {
			t.Fatalf("written twice (-first +second):\n%s", cmp.Diff(string(first), string(second)))
		}
	})
}

// A TraceEncoder whose buffer is taken between entries writes the same.
func TestTraceEncoderStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	tr := &seed.Trace{}
	for range 20 {
		tr.AddEntry(optest.RandomEntry(r))
	}
	var streamed []byte
	w := seed.NewEncoder(nil)
	for i := range tr.Entries {
		w.Entry(&tr.Entries[i])
		streamed = append(streamed, w.Buf...)
		w.Buf = w.Buf[:0]
	}
	streamed = append(streamed, w.End(tr.TotalDuration, tr.Metadata)...)
	check.Equal(t, "streamed", string(tr.AppendJSON(nil)), string(streamed))
}

// TestR4SeedTrace damages a trace in each way that a byte can: the error says what is wrong
// and where. The entries in front are kept, and those behind an entry whose brackets match.
func TestR4SeedTrace(t *testing.T) {
	entry := func(name string) string { return `{"step": 0, "operation": "` + name + `", "duration_us": 1.5}` }
	document := func(entries string) string { return "{\"entries\": [\n" + entries + "\n], \"total_duration_us\": 3}" }
	for _, test := range []struct {
		name, entries string
		want          []string
		err           string
	}{
		{"a value", entry("a") + ",\n" + `{"step": 0, "operation": "b", "duration_us": x}` + ",\n" + entry("c"), []string{"a", "c"},
			"f: entries[1]: expected a value, found 'x' (at byte 110)"},
		{"a comma between entries", entry("a") + "\n" + entry("b") + ",\n" + entry("c"), []string{"a"},
			"f: expected ',' or ']', found '{' (at byte 64)"},
		{"a quote", entry("a") + ",\n" + `{"step": 0, "operation": "b, "duration_us": 2}` + ",\n" + entry("c") + ",\n" + entry("d"),
			[]string{"a"},
			"f: entries[1]: expected ',' or '}', found 'd' (at byte 95)"},
		{"the end of an entry", entry("a") + ",\n" + `{"step": 0, "operation": "b", "duration_us": 2` + ",\n" + entry("c") + ",\n" + entry("d"),
			[]string{"a"},
			"f: entries[1]: expected a string, found '{' (at byte 113)"},
		{"an object", entry("a") + ",\n7,\n" + entry("c"), []string{"a", "c"}, "f: entries[1]: not an object (at byte 66)"},
		{"what it must have", entry("a") + ",\n{},\n" + entry("c"), []string{"a", "c"},
			"f: entries[1]: an entry without an operation (at byte 67)"},
		{"nesting", entry("a") + `,{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}," + entry("c"), []string{"a", "c"},
			"f: entries[1]: nested deeper than 512 (at byte 580)"},
		{"the start of an entry", entry("a") + ",\n" + `X"step": 0, "operation": "b", "duration_us": 2}` + ",\n" + entry("c"), []string{"a"},
			"f: entries[1]: expected a value, found 'X' (at byte 65)"},
	} {
		trace, err := seed.Parse([]byte(document(test.entries)), "f")
		var got []string
		for _, e := range trace.Entries {
			got = append(got, e.Operation)
		}
		first, _, _ := strings.Cut(fmt.Sprint(err), "\n")
		if diff := cmp.Diff(test.want, got); diff != "" || first != test.err {
			t.Errorf("%s: error %s, want %s, entries (-want +got):\n%s", test.name, first, test.err, diff)
		}
	}
}

// R2: what ends a trace early that is read as it comes ends it with a position.
func TestR2TraceStreamDamage(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"entries":[{"operation":"a"`), iotest.ErrReader(errors.New("no disk")))
	for want, src := range map[string]io.Reader{
		"unexpected end of JSON text (at byte 53)":        strings.NewReader(`{"entries":[{"operation":"a","duration_us":1},{"opera`),
		"value longer than 16 MiB (at byte 12)":           strings.NewReader(`{"entries":["` + strings.Repeat("x", 40<<20) + `"]}`),
		"no disk":                                         broken,
		"expected ',' or ']', found '{' (at byte 46)":     strings.NewReader(`{"entries":[{"operation":"a","duration_us":1} {}]}`),
		"total_duration_us is not a number (at byte 23)":  strings.NewReader(`{"total_duration_us":{}}`),
		"expected the end of the document, found 'x' (at": strings.NewReader(`{"entries":[]} x`),
	} {
		var last error
		for _, err := range seed.Stream(src, "trace") {
			last = err
		}
		check.Says(t, want, want, last)
	}
}
