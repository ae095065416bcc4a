package seed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/op"
)

// document is a seed trace in memory.
type document struct {
	entries  []op.Entry
	total    int64 // ns
	stated   bool  // the document states the total
	metadata map[string]string
}

// write returns d as an Encoder writes it.
func (d *document) write() []byte {
	w := NewEncoder(nil)
	for i := range d.entries {
		w.Entry(&d.entries[i])
	}
	return w.End(d.total, d.metadata)
}

// read returns the document in text and the errors, joined.
func read(text []byte, name string) (*document, error) {
	d := &document{metadata: map[string]string{}}
	var errs []error
	for rec, err := range Records(bytes.NewReader(text), name) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case rec.Entry != nil:
			d.entries = append(d.entries, *rec.Entry.Clone())
		case rec.Total != nil:
			d.total = rec.Total.Stated
			d.stated = true
		case rec.Resource != nil:
			for _, a := range rec.Resource.Attrs {
				d.metadata[a.Key] = a.Value
			}
		}
	}
	return d, errors.Join(errs...)
}

// sample has values that the format can express and values that it cannot.
func sample() *document {
	return &document{
		entries: []op.Entry{
			{Step: op.Known(0), Operation: "matmul", Duration: 100_000},
			{
				Step: op.Known(1), Operation: "conv2d", Duration: 500_000, DeviceID: "gpu:0",
				InputShapes: []op.Shape{{1, 3, 32, 32}, {16, 3, 3, 3}, {}}, OutputShape: op.Shape{1, 16, 30, 30},
				OutputElements: op.Known(14400), MemoryBytes: op.Known(115200),
			},
			{Operation: "odd \"name\"\n", Duration: 600, OutputShape: op.Shape{-1, 4}, InputShapes: []op.Shape{nil}},
		},
		total:    600_600,
		metadata: map[string]string{"model": "resnet50", "device": "cpu"},
	}
}

func TestEncoderGolden(t *testing.T) {
	golden.Check(t, "testdata/seed.json", string(sample().write()))
	golden.Check(t, "testdata/seed_empty.json", string(new(document).write()))
}

// The reference recorder gives an operation without shapes one element of eight bytes.
func TestNumbersStayAsInTheDocument(t *testing.T) {
	var b bytes.Buffer
	check.OK(t, json.Indent(&b, []byte(`{"entries":[{"step":0,"operation":"relu","device_id":null,"input_shapes":[],`+
		`"output_shape":[],"duration_us":12.345,"output_elements":1,"memory_bytes":8},{"step":41,"operation":"add",`+
		`"device_id":"gpu:1","input_shapes":[[2,3],[]],"output_shape":[2,3],"duration_us":100.0,"output_elements":7,`+
		`"memory_bytes":9}],"total_duration_us":500.5,"metadata":{"model":"x"}}`), "", "  "))
	d := check.Must(read(b.Bytes(), "test"))(t)
	check.Equal(t, "round trip", b.String(), string(d.write()))
	e := d.entries[0]
	if e.OutputShape == nil || e.OutputElements != op.Known(1) || e.Warn != op.WarnNoStart || e.Kind != op.KindCompute {
		t.Errorf("first entry is %+v", e)
	}
}

func TestRecords(t *testing.T) {
	const entry = `{"step":0,"operation":"a","device_id":null,"input_shapes":[],"output_shape":[],"duration_us":1.5,` +
		`"output_elements":1,"memory_bytes":8}`
	for _, test := range []struct {
		name, text string
		entries    int
		total      string
	}{
		{"empty object", `{}`, 0, ""},
		{"no total", `{"entries":[` + entry + `,` + entry + `]}`, 2, ""},
		{"null total", `{"total_duration_us":null,"entries":[` + entry + `]}`, 1, ""},
		{"total first", `{"total_duration_us":7,"metadata":{},"entries":[` + entry + `]}`, 1, "7000"},
		{"NaN duration", `{"entries":[{"operation":"a","duration_us":null}]}`, 1, ""},
		{"unknown keys", `{"version":[1,{"a":2}],"entries":[{"operation":"a","duration_us":1,"x":{}}]}`, 1, ""},
		{"entries twice", `{"entries":[` + entry + `,` + entry + `],"entries":[` + entry + `]}`, 3, ""},
		{
			"more than an int64 of bytes",
			`{"entries":[{"operation":"a","duration_us":1,"memory_bytes":18446744073709551615}]}`, 1, "",
		},
	} {
		d, err := read([]byte(test.text), "test")
		total := ""
		if d.stated {
			total = fmt.Sprint(d.total)
		}
		if err != nil || len(d.entries) != test.entries || total != test.total {
			t.Errorf("%s: %d entries, total %q, error %v", test.name, len(d.entries), total, err)
		}
	}
}

func TestRecordsErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, "trace.json: unexpected end of JSON text (at byte 0)"},
		{`[]`, "trace.json: expected an object, found '[' (at byte 0)"},
		{`{"entries":[{"operation":"a"`, "trace.json: unexpected end of JSON text (at byte 28)"},
		{`{"entries":[{"duration_us":1}]}`, "trace.json: entries[0]: an entry without an operation (at byte 29)"},
		{`{"entries":[{"operation":"a"}]}`, "trace.json: entries[0]: an entry without a duration (at byte 29)"},
		{
			`{"entries":[{"operation":"a","duration_us":1e99}]}`,
			"trace.json: entries[0]: duration_us is not a duration that fits 64 bits of nanoseconds (at byte 47)",
		},
		{
			`{"total_duration_us":1e99,"entries":[{"operation":"a","duration_us":1}]}`,
			"trace.json: total_duration_us is not a duration that fits 64 bits of nanoseconds (at byte 25)",
		},
		{`{"entries":{}}`, "trace.json: expected an array, found '{' (at byte 11)"},
		{`{} x`, "trace.json: expected the end of the document, found 'x' (at byte 3)"},
	} {
		_, err := read([]byte(test.text), "trace.json")
		var syntax *op.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.text, err, test.want)
		}
	}
}

func TestTruncatedTraceIsReadUpToThere(t *testing.T) {
	text := sample().write()
	entries := 0
	for size := range text {
		d, err := read(text[:size], "cut")
		var syntax *op.SyntaxError
		if !errors.As(err, &syntax) || !syntax.Truncated || len(d.entries) < entries {
			t.Fatalf("%d bytes: %d entries after %d, error %v", size, len(d.entries), entries, err)
		}
		entries = len(d.entries)
	}
	check.Equal(t, "entries", 3, entries)
}

func TestAdditionsReadBack(t *testing.T) {
	for _, e := range []op.Entry{
		{Operation: "no values"},
		{Operation: "empty device", EmptyDevice: true},
		{Operation: "unknown device", DeviceID: "unknown"},
		{Operation: "host", Side: op.SideHost},
		{Operation: "inputs", InputShapes: []op.Shape{{2, 3}, nil, {}, nil}},
		{Operation: "scalar", OutputShape: op.Shape{}, OutputElements: op.Known(1)},
		{Operation: "no elements", OutputShape: op.Shape{0, 4}, OutputElements: op.Known(0)},
	} {
		back, err := read((&document{entries: []op.Entry{e}}).write(), "test")
		if err != nil || len(back.entries) != 1 {
			t.Fatalf("%s: %d entries, error %v", e.Operation, len(back.entries), err)
		}
		got := back.entries[0]
		if got.HasDevice() != e.HasDevice() || got.DeviceID != e.DeviceID || got.Side != e.Side ||
			!cmp.Equal(got.OutputShape, e.OutputShape) ||
			e.InputShapes != nil && !cmp.Equal(got.InputShapes, e.InputShapes) {
			t.Errorf("%s: read back as %+v", e.Operation, got)
		}
	}
}

func FuzzSeedRecords(f *testing.F) {
	f.Add(sample().write())
	f.Add([]byte(`{"entries":[{"operation":"a","duration_us":0.0005,"step":"7","output_shape":[1e2]}],` +
		`"metadata":{"a":{"b":1}}}`))
	f.Add([]byte(`{"entries":[{"operation":"\ud800","duration_us":1,"input_shapes":[[-1],[-2],null]}],` +
		`"total_duration_us":-3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := read(text, "fuzz")
		if err != nil {
			return
		}
		for i := range d.entries {
			if err := d.entries[i].Validate(); err != nil {
				t.Fatalf("entry %d: %v", i, err)
			}
		}
		first := d.write()
		again, err := read(first, "again")
		if err != nil {
			t.Fatalf("reading the document that was written: %v\n%s", err, first)
		}
		check.Equal(t, "written twice", string(first), string(again.write()))
	})
}

func TestEncoderStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	d := &document{}
	for range 20 {
		d.entries = append(d.entries, *optest.RandomEntry(r))
	}
	var streamed []byte
	w := NewEncoder(nil)
	for i := range d.entries {
		w.Entry(&d.entries[i])
		streamed = append(streamed, w.Buf...)
		w.Buf = w.Buf[:0]
	}
	streamed = append(streamed, w.End(d.total, d.metadata)...)
	check.Equal(t, "streamed", string(d.write()), string(streamed))
}

// R4: the error says what is wrong and where. Entries in front of the damage are kept, and those behind a bad entry
// whose brackets match.
func TestDamagedByteCostsItsEntry(t *testing.T) {
	entry := func(name string) string { return `{"step": 0, "operation": "` + name + `", "duration_us": 1.5}` }
	list := func(entries ...string) string {
		return "{\"entries\": [\n" + strings.Join(entries, ",\n") + "\n], \"total_duration_us\": 3}"
	}
	a := entry("a")
	c := entry("c")
	for _, test := range []struct {
		name, text, want, err string
	}{
		{
			"a value", list(a, `{"step": 0, "operation": "b", "duration_us": x}`, c), "a c",
			"f: entries[1]: expected a value, found 'x' (at byte 110)",
		},
		{"a comma between entries", list(a+"\n"+entry("b"), c), "a", "f: expected ',' or ']', found '{' (at byte 64)"},
		{
			"a quote", list(a, `{"step": 0, "operation": "b, "duration_us": 2}`, c, entry("d")), "a",
			"f: entries[1]: expected ',' or '}', found 'd' (at byte 95)",
		},
		{
			"the end of an entry", list(a, `{"step": 0, "operation": "b", "duration_us": 2`, c, entry("d")), "a",
			"f: entries[1]: expected a string, found '{' (at byte 113)",
		},
		{"an object", list(a, "7", c), "a c", "f: entries[1]: not an object (at byte 66)"},
		{"a required member", list(a, "{}", c), "a c", "f: entries[1]: an entry without an operation (at byte 67)"},
		{
			"nesting", list(a, `{"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+"}", c), "a c",
			"f: entries[1]: nested deeper than 512 (at byte 581)",
		},
		{
			"the start of an entry", list(a, `X"step": 0, "operation": "b", "duration_us": 2}`, c), "a",
			"f: entries[1]: expected a value, found 'X' (at byte 65)",
		},
	} {
		d, err := read([]byte(test.text), "f")
		var got []string
		for _, e := range d.entries {
			got = append(got, e.Operation)
		}
		first, _, _ := strings.Cut(fmt.Sprint(err), "\n")
		if strings.Join(got, " ") != test.want || first != test.err {
			t.Errorf("%s: error %s, want %s, entries %v", test.name, first, test.err, got)
		}
	}
}

// R2: damage ends a streamed trace with a position. Metadata stay behind the entries.
func TestStreamedTraceEndsAtTheDamage(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"entries":[{"operation":"a"`), iotest.ErrReader(errors.New("no disk")))
	stream := func(src io.Reader) iter.Seq2[op.Record, error] {
		return func(yield func(op.Record, error) bool) {
			r := &reader{stream: jsonstream.NewReader(src, "trace"), yield: yield}
			r.read()
		}
	}
	for want, src := range map[string]io.Reader{
		"unexpected end of JSON text (at byte 53)": strings.NewReader(`{"entries":[{"operation":"a","duration_us":1},{"opera`),
		"value longer than 16 MiB (at byte 12)": strings.NewReader(`{"entries":["` +
			strings.Repeat("x", 40<<20) + `"]}`),
		"no disk": broken,
		"expected ',' or ']', found '{' (at byte 46)":     strings.NewReader(`{"entries":[{"operation":"a","duration_us":1} {}]}`),
		"total_duration_us is not a number (at byte 23)":  strings.NewReader(`{"total_duration_us":{}}`),
		"expected the end of the document, found 'x' (at": strings.NewReader(`{"entries":[]} x`),
	} {
		var last error
		for _, err := range stream(src) {
			last = err
		}
		check.Says(t, want, want, last)
	}
	order := ""
	for rec, err := range stream(bytes.NewReader(sample().write())) {
		check.OK(t, err)
		switch {
		case rec.Entry != nil:
			order += "e"
		case rec.Resource != nil:
			order += "m"
		case rec.Total != nil:
			order += "t"
		}
	}
	check.Equal(t, "entries, metadata and total", "eeemt", order)
}
