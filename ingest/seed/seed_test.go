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

// shown returns the entries and the stated total of a trace, and the errors.
func shown(text string) string {
	var b strings.Builder
	d, err := read([]byte(text), "trace.json")
	for i := range d.entries {
		fmt.Fprintf(&b, "%s\n", d.entries[i].AppendJSON(nil))
	}
	if d.stated {
		fmt.Fprintf(&b, "total %d ns\n", d.total)
	}
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func TestRecords(t *testing.T) { golden.Cases(t, "testdata/cases.txt", shown) }

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
	golden.Cases(t, "testdata/damage.txt", shown)
	const entry = `{"step": 0, "operation": "a", "duration_us": 1.5}`
	got := shown("{\"entries\": [\n" + entry + ",\n{\"x\":" + strings.Repeat("[", 2000) + strings.Repeat("]",
		2000) + "},\n" + entry + "\n]}")
	if strings.Count(got, `"operation":"a"`) != 2 || !strings.Contains(got, "entries[1]: nested deeper than 512 (at byte 581)") {
		t.Error(got)
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
