package entries_test

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

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// minimal is the smallest entry with the changes applied.
func minimal(changes ...func(*op.Entry)) *op.Entry {
	e := &op.Entry{Operation: "a", Duration: 1500, Kind: op.KindCompute, KindRule: op.RuleDefault}
	for _, change := range changes {
		change(e)
	}
	return e
}

func TestDecodeEntry(t *testing.T) {
	recordtest.Cases(t, func(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
		return entries.NewReader(src, name).Records()
	})
}

func TestDecodeLimits(t *testing.T) {
	dims := strings.Repeat("1,", op.MaxRank) + "1"
	shapes := strings.Repeat("[2],", op.MaxInputs) + "[2]"
	types := strings.Repeat(`"f32",`, op.MaxInputs) + `"f32"`
	rec := check.Must(entries.DecodeLine([]byte(`{"operation":"a","duration_us":1,"output_shape":[` + dims +
		`],"input_shapes":[` + shapes + `],"input_dtypes":[` + types + `]}`)))(t)
	e := rec.Entry
	if len(e.OutputShape) != op.MaxRank || len(e.InputShapes) != op.MaxInputs || len(e.InputDTypes) != op.MaxInputs ||
		e.Warn != op.WarnShapeTruncated {
		t.Errorf("%d dimensions, %d inputs, %d types, warnings %q", len(e.OutputShape), len(e.InputShapes),
			len(e.InputDTypes), e.Warn)
	}
	if e.OutputElements.Known {
		t.Errorf("elements of a shape that was cut are %v", e.OutputElements)
	}
}

// described returns a record as JSON or in words.
func described(rec op.Record) string {
	switch {
	case rec.Entry != nil:
		return string(rec.Entry.AppendJSON(nil))
	case rec.Call != nil:
		return string(rec.Call.AppendCallJSON(nil))
	case rec.Span != nil:
		return string(rec.Span.AppendJSON(nil))
	case rec.Gap != nil:
		return string(rec.Gap.AppendJSON(nil))
	case rec.Batch != nil:
		return string(rec.Batch.AppendJSON(nil))
	case rec.Resource != nil:
		return string(op.AppendHeader(nil, rec.Resource))
	case rec.Skipped.N > 0:
		return "skipped " + string(rec.Skipped.Reason)
	}
	return "empty"
}

func TestDecodeLine(t *testing.T) {
	decoded := func(line string) string {
		rec, err := entries.DecodeLine([]byte(line))
		if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
			return fmt.Sprintf("%v, truncated %t, %s", err, syntax.Truncated, syntax.Class)
		}
		check.OK(t, err)
		return described(rec)
	}
	golden.Cases(t, "testdata/lines.txt", decoded)
	check.Equal(t, "deep", "line: nested deeper than 512 (at byte 516), truncated false, syntax",
		decoded(`{"a":`+strings.Repeat("[", 1000)+`}`))
}

func FuzzDecodeLine(f *testing.F) {
	for _, line := range goldenRecords() {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"operation":"a","duration_us":"1.5","step":"3","output_shape":[-1,2],"input_shapes":[[1],null,` +
		`"x"],"trace_id":"zz"}`))
	f.Add([]byte(`{"operation":"ncclX","duration_us":null,"memory_bytes":-4,"attrs":{"a":{"b":[1]},"a":2},` +
		`"warn":["bad_id"]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, err := entries.DecodeLine(line)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("%q is no JSON", line)
		}
		recordtest.Check(t, recordtest.All(rec))
		if rec.Entry != nil { // and the written text loses no value
			want := rec.Entry.Clone()
			back := check.Must(entries.DecodeLine(rec.Entry.AppendJSON(nil)))(t).Entry
			if want.Kind != op.KindCollective {
				want.KindRule = back.KindRule // files keep it for collectives only
			}
			check.Equal(t, "written and read", want, back)
		}
	})
}

// readAll returns a word per record and error of text.
func readAll(text string) []string {
	var got []string
	for rec, err := range entries.NewReader(strings.NewReader(text), "f").Records() {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.Truncated:
			got = append(got, "truncated "+err.Error())
		case err != nil:
			got = append(got, err.Error())
		case rec.Entry != nil:
			got = append(got, "op "+rec.Entry.Operation)
		case rec.Span != nil:
			got = append(got, "span "+rec.Span.Name)
		case rec.Gap != nil:
			got = append(got, fmt.Sprint("gap ", rec.Gap.Dropped))
		case rec.Batch != nil:
			got = append(got, fmt.Sprint("batch ", rec.Batch.Sequence))
		case rec.Resource != nil:
			got = append(got, "resource "+rec.Resource.Service)
		case rec.Skipped.N > 0:
			got = append(got, "skipped "+string(rec.Skipped.Reason))
		default:
			got = append(got, "empty")
		}
	}
	return got
}

func line(operation string) string { return fmt.Sprintf(`{"operation":%q,"duration_us":1}`, operation) }

func TestReader(t *testing.T) {
	read := func(text string) string { return strings.Join(readAll(text), "\n") }
	golden.Cases(t, "testdata/reader.txt", read)
	a := line("a")
	zero := "f:1: zero bytes passed over: "
	for text, want := range map[string]string{
		a + "\r\n" + a + "\r\n": "op a\nop a", "\n \t\r\n" + a + "\n\n\n" + a + "\n\n": "op a\nop a",
		"\xff\xfe{\x00}\x00\n\x00" + a: "f: the text is UTF-16, entries are UTF-8",
		"\x00\x01\x02\n" + a:           zero + "1 (at byte 0)\nf:1: expected an object, found '\\x01' (at byte 1)\nop a",
		strings.Repeat("\x00", 300_000) + a + "\n\x00\x00" + a: zero + "300000 (at byte 0)\nop a\n" +
			fmt.Sprintf("f:2: zero bytes passed over: 2 (at byte %d)\nop a", 300_001+len(a)),
	} {
		check.Equal(t, fmt.Sprintf("%.20q", text), want, read(text))
	}
}

func TestReaderGiantLine(t *testing.T) {
	text := line("a") + "\n" + strings.Repeat("x", entries.MaxLineBytes+1) + "\n" + line("b") + "\n"
	want := []string{"op a", "f:2: line longer than 16777216 bytes (at byte 34)", "op b"}
	check.Equal(t, "records", want, readAll(text))
	_, err := entries.NewReader(strings.NewReader(strings.Repeat("x", entries.MaxLineBytes+1)), "f").Next()
	if syntax, ok := errors.AsType[*op.SyntaxError](err); !ok || syntax.Class.String() != "limit_exceeded" {
		t.Errorf("error %v", err)
	}
}

// A file is readable from any line boundary; a cut inside a line costs this line only.
func TestReaderFromAnyCut(t *testing.T) {
	lines := goldenRecords()
	text := strings.Join(lines, "")
	all := readAll(text)
	if len(all) != len(lines) {
		t.Fatalf("%d records of %d lines: %q", len(all), len(lines), all)
	}
	start := 0
	for i, l := range lines {
		check.Equal(t, fmt.Sprintf("from line %d", i+1), all[i:], readAll(text[start:]))
		start += len(l)
	}
	for n := range text {
		got := readAll(text[:n])
		whole := strings.Count(text[:n], "\n")
		if len(got) < whole || len(got) > whole+1 {
			t.Fatalf("cut after %d bytes: %d records", n, len(got))
		}
		for i := range whole {
			if got[i] != all[i] {
				t.Fatalf("cut after %d bytes: record %d is %q, want %q", n, i, got[i], all[i])
			}
		}
		if len(got) > whole && got[whole] != all[whole] && !strings.HasPrefix(got[whole], "truncated") {
			t.Fatalf("cut after %d bytes the last is %q", n, got[whole])
		}
	}
}

// A caller may stop anywhere and go on later. An error of the source comes last, and again.
func TestReaderEnds(t *testing.T) {
	recordtest.Ends(t, func(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
		return entries.NewReader(src, name).Records()
	}, strings.Join(goldenRecords(), ""), "x\n"+line("a")+"\n")
	broken := errors.New("disk on fire")
	r := entries.NewReader(io.MultiReader(strings.NewReader(line("a")+"\n"+line("b")+"\n"), iotest.ErrReader(broken)),
		"f")
	for range r.Records() {
		break
	}
	check.Equal(t, "behind the stop", "b", check.Must(r.Next())(t).Entry.Operation)
	for range 2 {
		_, err := r.Next()
		check.Is(t, "Next", broken, err)
	}
}

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
		`{"batch":{"writer":"w","seq":1,"entries":0}}`, string(op.AppendHeader(nil, nil)), "",
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
		line(optest.RichEntry().AppendJSON(nil)), line((&op.Entry{Operation: "reshape", Kind: op.KindCompute,
			Duration: 600}).AppendJSON(nil)), line((&op.Entry{Operation: "scalar", Kind: op.KindMemory,
			InputShapes: []op.Shape{}, OutputShape: op.Shape{}, Collective: &op.Collective{}}).AppendJSON(nil)),
		line(request.AppendJSON(nil)), line((&op.Span{Name: "step"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 12, Reason: "queue_full"}).AppendJSON(nil)),
		line((&op.Gap{Dropped: 1}).AppendJSON(nil)),
		line((&op.Entry{Operation: "cudaStreamSynchronize", DeviceID: "cuda:0", Stream: op.Known(7), Duration: 5,
			ParentSpanID: optest.ParentID, Attrs: []op.Attr{{Key: "thread.id", Value: "7", Type: op.AttrInt}},
		}).AppendCallJSON(nil)),
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

// Entries have the host and the service of their writer's resource, wherever the reader begins.
func TestSources(t *testing.T) {
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"service":"` + host +
			`","attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(writer string) string { return `{"batch":{"writer":"` + writer + `","seq":0,"entries":1}}` + "\n" }
	canonical := (&op.Entry{Operation: "a", Duration: 1}).AppendJSON(nil)
	entry := `{"step":1,"operation":"a","duration_us":1}` + "\n" + string(canonical) + "\n"
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
		{"white space and other order", `{ "resource" : {"service":"a","attrs":{"host.name":"a"}}, "schema":"optrace.entries/v1"}` +
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
		lines := strings.SplitAfter(test.lines, "\n")
		for from := range lines[:len(lines)-1] {
			var before entries.Sources
			before.Follow([]byte(strings.Join(lines[:from], "")))
			r := entries.NewReader(strings.NewReader(strings.Join(lines[from:], "")), "f")
			r.SetSources(&before)
			var hosts []string
			for rec := range r.Records() { // a damaged header is an error
				if rec.Entry != nil {
					hosts = append(hosts, rec.Entry.Host)
					check.Equal(t, test.name+": service", rec.Entry.Host, rec.Entry.Service)
				}
			}
			for _, host := range hosts[max(0, len(hosts)-2):] { // the last entry, in both forms
				check.Equal(t, fmt.Sprintf("%s, from line %d", test.name, from+1), test.want, host)
			}
		}
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
