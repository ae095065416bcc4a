package entries_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := entries.NewWriter(&out, &op.Resource{Service: "s"})
	for _, err := range []error{
		w.Entry(minimal()), w.Span(&op.Span{Name: "n"}), w.Gap(&op.Gap{Dropped: 2}),
		w.Batch(&op.Batch{Writer: "w", Sequence: 1}), w.Resource(nil),
	} {
		check.OK(t, err)
	}
	check.Equal(t, "bytes were written before Flush", 0, out.Len())
	check.OK(t, w.Flush())
	want := []string{
		string(op.AppendHeader(nil, &op.Resource{Service: "s"})), string(minimal().AppendJSON(nil)),
		`{"span":{"name":"n","duration_ns":0}}`, `{"gap":{"dropped":2}}`,
		`{"batch":{"writer":"w","seq":1,"entries":0}}`,
		string(op.AppendHeader(nil, nil)), "",
	}
	if got := out.String(); got != strings.Join(want, "\n") {
		t.Errorf("written:\n%s", got)
	}
}

func TestWriterWritesWholeLines(t *testing.T) {
	writes := 0
	w := entries.NewWriter(spantest.WriterFunc(func(p []byte) (int, error) {
		if writes++; !bytes.HasSuffix(p, []byte("\n")) {
			t.Errorf("write %d is not of whole lines: %q", writes, p)
		}
		return len(p), nil
	}), nil)
	for range 2000 {
		check.OK(t, w.Entry(optest.RichEntry()))
	}
	if err := w.Flush(); err != nil || writes < 3 {
		t.Errorf("%d writes, error %v", writes, err)
	}
	before := writes
	if err := w.Flush(); err != nil || writes != before {
		t.Errorf("a Flush of nothing wrote, error %v", err)
	}
}

func TestWriterErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, test := range []struct{ err, want error }{{full, full}, {nil, io.ErrShortWrite}} {
		for n := range 40 {
			w := entries.NewWriter(&spantest.FaultyWriter{N: n, Fault: func(n int) (int, error) { return n, test.err }},
				nil)
			if err := w.Entry(minimal()); err != nil {
				t.Fatalf("before anything is written: %v", err)
			}
			for range 2 {
				if err := w.Flush(); !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(),
					"writing entries: ") {
					t.Fatalf("after %d bytes: error %v, want %v", n, err, test.want)
				}
			}
			if err := w.Entry(minimal()); !errors.Is(err, test.want) {
				t.Fatalf("the error is forgotten: %v", err)
			}
		}
	}
}

// goldenRecords are records of every kind, each as a line.
func goldenRecords() []string {
	line := func(b []byte) string { return string(b) + "\n" }
	request := op.Span{
		Name: "POST /predict", TraceID: optest.TraceID, SpanID: optest.ParentID, ParentSpanID: optest.SpanID,
		RemoteParent: true,
		Start:        op.Known(1_700_000_000_000_000_000), Duration: 1_000_000, Service: "api", Failed: true,
	}
	resource := op.Resource{Service: "trainer", Rank: op.Known(1), WorldSize: op.Known(8),
		Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}
	return []string{
		line(op.AppendHeader(nil, nil)), line(op.AppendHeader(nil, &op.Resource{})),
		line(op.AppendHeader(nil, &op.Resource{WorldSize: op.Known(2)})), line(op.AppendHeader(nil, &resource)),
		line((&op.Batch{Writer: "w-1", Sequence: 7, Entries: 2}).AppendJSON(nil)),
		line(optest.RichEntry().AppendJSON(nil)),
		line((&op.Entry{Operation: "reshape", Kind: op.KindCompute, Duration: 600}).AppendJSON(nil)),
		line((&op.Entry{Operation: "scalar", Kind: op.KindMemory, InputShapes: []op.Shape{}, OutputShape: op.Shape{},
			Collective: &op.Collective{}}).AppendJSON(nil)),
		line(request.AppendJSON(nil)), line((&op.Span{Name: "step"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 12, Reason: "queue_full"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 1}).AppendJSON(nil)),
	}
}

func TestRecordsGolden(t *testing.T) {
	golden.Check(t, "testdata/records.jsonl", strings.Join(goldenRecords(), ""))
}

func TestEntryRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := []*op.Entry{optest.RichEntry()}
	for range 5000 {
		all = append(all, optest.RandomEntry(r))
	}
	for _, e := range all {
		line := e.AppendJSON(nil)
		rec, err := entries.DecodeLine(line)
		if err != nil || !json.Valid(line) {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(e, rec.Entry); diff != "" {
			t.Fatalf("%s read back (-want +got):\n%s", line, diff)
		}
		if again := rec.Entry.AppendJSON(nil); string(again) != string(line) {
			t.Fatalf("written again (-want +got):\n%s", cmp.Diff(string(line), string(again)))
		}
		if err := rec.Entry.Validate(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func TestMarshalJSON(t *testing.T) {
	want := map[string][]*op.Entry{"slowest": {{Operation: "a", Kind: op.KindCompute, KindRule: op.RuleDefault}}}
	text, err := json.Marshal(want)
	if err != nil || !strings.Contains(string(text), `"slowest":[{"step":null,"operation":"a",`) {
		t.Errorf("JSON is %s, %v", text, err)
	}
	var back map[string][]*op.Entry
	check.OK(t, json.Unmarshal(text, &back))
	check.Equal(t, "read back", want, back)
}

// Values of every type read back. A number of more than 64 bits stays text.
func TestAttrsReadBack(t *testing.T) {
	line := `{"operation":"a","duration_ns":1,"attrs":{"t":"4","i":4,"f":4.0,"e":1E2,"b":false,"n":null,"l":[1, ` +
		`2.0],"m":{"k":{}},` +
		`"y":{"bytesValue":"AAE="},"inf":{"doubleValue":"Infinity"},"like":{"bytesValue":"a","x":1},` +
		`"odd":{"doubleValue":"x"},` +
		`"big":18446744073709551616,"huge":1e999}}`
	want := []op.Attr{
		{Key: "t", Value: "4"}, {Key: "i", Value: "4", Type: op.AttrInt}, {Key: "f", Value: "4", Type: op.AttrFloat},
		{Key: "e", Value: "100", Type: op.AttrFloat}, {Key: "b", Value: "false", Type: op.AttrBool},
		{Key: "n", Value: "null", Type: op.AttrJSON},
		{Key: "l", Value: "[1, 2.0]", Type: op.AttrJSON}, {Key: "m", Value: `{"k":{}}`, Type: op.AttrJSON},
		{Key: "y", Value: "AAE=", Type: op.AttrBytes}, opmodel.FloatAttr("inf", math.Inf(1)),
		{Key: "like", Value: `{"bytesValue":"a","x":1}`, Type: op.AttrJSON},
		{Key: "odd", Value: `{"doubleValue":"x"}`, Type: op.AttrJSON},
		{Key: "big", Value: "18446744073709551616"}, {Key: "huge", Value: "1e999"},
	}
	rec := check.Must(entries.DecodeLine([]byte(line)))(t)
	check.Equal(t, "", want, rec.Entry.Attrs)
	again, err := entries.DecodeLine(rec.Entry.AppendJSON(nil))
	if err != nil || !cmp.Equal(want, again.Entry.Attrs) {
		t.Errorf("read again: %v\n%s", err, cmp.Diff(want, again.Entry.Attrs))
	}
}

func TestSources(t *testing.T) {
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(writer string) string { return `{"batch":{"writer":"` + writer + `","seq":0,"entries":1}}` + "\n" }
	const entry = `{"step":1,"operation":"a","duration_us":1}` + "\n"
	const nothing = `{"schema":"optrace.entries/v1"}` + "\n"
	for _, test := range []struct{ name, lines, want string }{
		{"nothing", entry, ""}, {"a header", header("a") + entry, "a"},
		{"the last of two", header("a") + entry + header("b") + entry, "b"},
		{"behind a batch record", batch("v") + header("a") + entry + batch("w") + header("b") + entry + batch("v") +
			entry, "a"},
		{"in front of a batch record", header("a") + batch("v") + entry + header("b") + batch("w") + entry +
			batch("v") + entry, "a"},
		{"a writer without one", batch("v") + header("a") + entry + batch("w") + entry, ""},
		{"a change within a batch", batch("v") + header("a") + entry + header("b") + entry + batch("w") + entry +
			batch("v") + entry, "b"},
		{"a header without a resource", header("a") + entry + nothing + entry, ""},
		{"white space and other order", `{ "resource" : {"attrs":{"host.name":"a"}}, "schema":"optrace.entries/v1"}` +
			"\n\n" + entry, "a"},
		{"a damaged header", header("a") + `{"schema":"optrace.entries/v1","resource":{"at` + "\n" + entry, "a"},
	} {
		var s entries.Sources
		s.Follow([]byte(test.lines))
		got := ""
		if r := s.Resource(); r != nil {
			got = r.Attrs[0].Value
		}
		check.Equal(t, test.name, test.want, got)
	}
}

// Once names and shapes repeat, building, writing and reading an entry do not allocate.
func TestEntriesDoNotAllocate(t *testing.T) {
	b := attrmap.NewBuilder(nil)
	inputs := b.Target(attrkey.InputShapes)
	texts := []string{"64x784", "784x256"}
	left := []int64{64, 784}
	both := []int64{64, 784, 784, 256}
	ends := []int{2, 4}
	output := []int64{64, 256}
	for name, set := range map[string]func(){
		"flat":    func() { b.SetInts(inputs, left) },
		"nested":  func() { b.SetIntLists(inputs, both, ends) },
		"strings": func() { b.SetStrs(inputs, texts) },
		"JSON":    func() { b.SetStr(inputs, "[[64,784],[784,256]]") },
	} {
		var buf []byte
		n := int64(0)
		once := func() {
			n++
			b.Reset()
			b.SetName("matmul")
			b.SetIDs(optest.TraceID, optest.SpanID, optest.ParentID)
			b.SetTime(op.Known(1_700_000_000_000_000_000+n), 12_600)
			b.SetScope("example.com/engine")
			b.Str(attrkey.Name, "matmul")
			b.Str(attrkey.Device, "cuda:0")
			b.Str(attrkey.DType, "f32")
			set()
			b.SetInts(b.Target(attrkey.OutputShape), output)
			b.Int(attrkey.Step, n)
			e, _ := b.Entry()
			buf = e.AppendJSON(buf[:0])
		}
		once()
		check.Equal(t, name+": allocations per entry", 0, testing.AllocsPerRun(100, once))
	}
}

func TestRichEntryDoesNotAllocate(t *testing.T) {
	e := optest.RichEntry()
	var buf []byte
	once := func() { buf = e.AppendJSON(buf[:0]) }
	once()
	// Some versions of encoding/json copy a list attribute to validate it.
	if got := testing.AllocsPerRun(100, once); got > 1 {
		t.Errorf("%g allocations per entry", got)
	}
}

// The lines are of several names and devices.
func TestReaderDoesNotAllocate(t *testing.T) {
	const n = 1000
	text := op.AppendHeader(nil, &op.Resource{Service: "trainer"})
	rich := optest.RichEntry().AppendJSON(nil)
	for i := range n {
		line := bytes.Replace([]byte(fullLine), []byte("matmul"), fmt.Append(nil, "matmul_", i%5), 1)
		line = bytes.Replace(line, []byte("cuda:0"), fmt.Append(nil, "cuda:", i%4), 1)
		text = append(append(append(append(text, '\n'), line...), '\n'), rich...)
	}
	r := entries.NewReader(bytes.NewReader(bytes.Repeat(append(text, '\n'), 12)), "test")
	// AllocsPerRun calls once more often than it counts.
	got := testing.AllocsPerRun(10, func() {
		for range 2 * n {
			check.Must(r.Next())(t)
		}
	})
	// The buffer of a Reader grows, and a header's service is interned, once.
	if got > 5 {
		t.Errorf("%g allocations per %d n", got, 2*n)
	}
}

func BenchmarkReadCanonicalLines(b *testing.B) { benchmarkRead(b, []byte(fullLine+"\n")) }

func BenchmarkReadOtherLines(b *testing.B) { benchmarkRead(b, []byte(fullLine+" \n")) }

func benchmarkRead(b *testing.B, line []byte) {
	text := bytes.Repeat(line, 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range entries.NewReader(bytes.NewReader(text), "lines").Records() {
			check.OK(b, err)
		}
	}
}

func BenchmarkWriteEntry(b *testing.B) {
	e := optest.RichEntry()
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = e.AppendJSON(line[:0])
	}
	b.SetBytes(int64(len(line)))
}
