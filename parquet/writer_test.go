package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// row has some columns of the table.
type row struct {
	Record      string            `parquet:"record"`
	Step        *int64            `parquet:"step"`
	Operation   *string           `parquet:"operation"`
	OutputShape []int64           `parquet:"output_shape,list"`
	DurationNS  *int64            `parquet:"duration_ns"`
	Memory      *int64            `parquet:"memory_bytes"`
	TraceID     *string           `parquet:"trace_id"`
	Failed      *bool             `parquet:"failed"`
	Error       *string           `parquet:"error"`
	Count       *float64          `parquet:"adjusted_count"`
	Attrs       map[string]string `parquet:"attrs"`
	Warn        []string          `parquet:"warn,list"`
	Collective  *collective       `parquet:"collective"`
	Name        *string           `parquet:"name"`
	Gap         *gap              `parquet:"gap"`
	Batch       *batch            `parquet:"batch"`
}

type collective struct {
	Name      *string `parquet:"name"`
	GroupSize *int64  `parquet:"group_size"`
}

type gap struct {
	Dropped int64   `parquet:"dropped"`
	Reason  *string `parquet:"reason"`
}

type batch struct {
	Writer  string `parquet:"writer"`
	Seq     int64  `parquet:"seq"`
	Entries int64  `parquet:"entries"`
}

// The library reads the values of the records.
func TestAgainstTheLibrary(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for _, err := range []error{
		w.Resource(&op.Resource{Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}),
		w.Batch(&op.Batch{Writer: "w-1", Sequence: 7, Entries: 2}),
		w.Entry(&op.Entry{
			Step: op.Known(3), Operation: "all_reduce", Kind: op.KindCollective, OutputShape: op.Shape{2, 3},
			Duration: 600, MemoryBytes: op.Known(48), TraceID: op.TraceID{0xab, 15: 1}, Failed: true,
			Error: "timeout", AdjustedCount: 2.5, Warn: op.WarnOverflow | op.WarnNoStart,
			Collective: &op.Collective{Name: "all_reduce", GroupSize: op.Known(8)},
		}),
		w.Entry(&op.Entry{Operation: "relu", Kind: op.KindCompute, Failed: true, Collective: &op.Collective{}}),
		w.Span(&op.Span{Name: "step", Duration: 5}),
		w.Gap(&op.Gap{Dropped: 12}),
		w.Close(),
	} {
		check.OK(t, err)
	}
	got := check.Must(lib.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	want := []row{
		{Record: "resource", Attrs: map[string]string{"host.name": "n1"}},
		{Record: "batch", Batch: &batch{"w-1", 7, 2}},
		{
			Record: "entry", Step: new(int64(3)), Operation: new("all_reduce"), OutputShape: []int64{2, 3},
			DurationNS: new(int64(600)), Memory: new(int64(48)),
			TraceID: new("ab000000000000000000000000000001"), Failed: new(true), Error: new("timeout"),
			Count: new(2.5), Warn: []string{"overflow", "no_start"},
			Collective: &collective{Name: new("all_reduce"), GroupSize: new(int64(8))},
		},
		{Record: "entry", Operation: new("relu"), DurationNS: new(int64(0)), Failed: new(true),
			Collective: &collective{}},
		{Record: "span", Name: new("step"), DurationNS: new(int64(5)), Failed: new(false)},
		{Record: "gap", Gap: &gap{Dropped: 12}},
	}
	check.Equal(t, "", want, got, cmpopts.EquateEmpty())

	f := check.Must(lib.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	if schema, _ := f.Lookup("optrace.schema"); schema != op.Schema {
		t.Errorf("schema %q, want %q", schema, op.Schema)
	}
}

// The metadata have the process if there is only one.
func TestResourceInMetadata(t *testing.T) {
	one := op.Resource{Service: "trainer", Rank: op.Known(3), WorldSize: op.Known(8),
		Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}
	const header = `{"schema":"optrace.entries/v1","resource":{"service":"trainer","rank":3,"world_size":8,"attrs":{"host.name":"n1"}}}`
	for _, test := range []struct {
		name      string
		resources []op.Resource
		want      string
	}{
		{"none", nil, ""},
		{"one", []op.Resource{one}, header},
		{"the same again", []op.Resource{one, one}, header},
		{"two", []op.Resource{one, {Service: "trainer", Rank: op.Known(4)}, one}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			w := parquet.NewWriter(&b)
			for _, r := range test.resources {
				check.OK(t, w.Resource(&r))
				r.Attrs = append(r.Attrs[:0:0], op.Attr{Key: "host.name", Value: "later"})
			}
			check.OK(t, w.Close())
			f := check.Must(lib.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
			if got, ok := f.Lookup("optrace.resource"); got != test.want || ok != (test.want != "") {
				t.Errorf("metadata have %q (%v), want %q", got, ok, test.want)
			}
		})
	}
}

// A row group ends after many rows, or after long ones.
func TestRowGroups(t *testing.T) {
	for test := range cases.Of(t, 1, []struct {
		name string
		rows int
		path string
		want int
	}{
		{"many", 1<<17 + 1, "", 2},
		{"long", 400, string(bytes.Repeat([]byte("x"), 1<<20)), 4},
	}) {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			w := parquet.NewWriter(&b)
			for i := range test.rows {
				check.OK(t, w.Entry(&op.Entry{Operation: "relu", Path: test.path, Step: op.Known(int64(i))}))
			}
			check.OK(t, w.Close())
			f := check.Must(lib.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
			if n := len(f.RowGroups()); n != test.want || f.NumRows() != int64(test.rows) {
				t.Errorf("%d rows in %d groups, want %d in %d", f.NumRows(), n, test.rows, test.want)
			}
		})
	}
}

// A failed write is reported at any point and is final.
func TestWriteErrors(t *testing.T) {
	write := func(out io.Writer) error {
		w := parquet.NewWriter(out)
		for range 300 {
			_ = w.Entry(&op.Entry{Operation: "relu"}) // Close reports it
		}
		err := w.Close()
		if again := w.Close(); again == nil {
			t.Error("closed twice without an error")
		}
		return err
	}
	var whole bytes.Buffer
	check.OK(t, write(&whole))
	for n := 0; n < whole.Len(); n += 397 {
		if err := write(&fulldisk.Writer{Left: n}); err == nil || err.Error() != "writing parquet: disk full" {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	w := parquet.NewWriter(io.Discard)
	check.OK(t, w.Close())
	check.Says(t, "a span after Close", "", w.Span(&op.Span{}))
}

func ExampleWriter() {
	var file bytes.Buffer
	w := parquet.NewWriter(&file)
	err := errors.Join(
		w.Entry(&op.Entry{Operation: "matmul", DeviceID: "cuda:0", Duration: 120_500, OutputShape: op.Shape{64, 256}}),
		w.Entry(&op.Entry{Operation: "relu", DeviceID: "cuda:0", Duration: 8_250, OutputShape: op.Shape{64, 256}}),
		w.Close(),
	)
	if err != nil {
		fmt.Println(err)
		return
	}

	for rec, err := range parquet.RecordsAt(bytes.NewReader(file.Bytes()), int64(file.Len()), "ops.parquet") {
		if err != nil {
			fmt.Println(err)
			return
		}
		e := rec.Entry
		fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
	}
	// Output:
	// matmul cuda:0 64x256 120500 ns
	// relu cuda:0 64x256 8250 ns
}

// step returns operations of training steps, with all usual fields.
func step(n int) []op.Record {
	names := []string{"matmul", "softmax", "layer_norm", "all_reduce", "relu"}
	all := make([]op.Record, n)
	for i := range all {
		e := &op.Entry{
			Operation: names[i%len(names)], Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cuda:0",
			Step: op.Known(int64(i / 100)), Stream: op.Known(7), Rank: op.Known(0), DType: op.BF16, Path: "layers.3.mlp",
			InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256},
			OutputElements: op.Known(16384), MemoryBytes: op.Known(32768),
			Start: op.Known(1_700_000_000_000_000_000 + int64(i)*10_000), Duration: 5_000 + int64(i*i%4096),
			TraceID: op.TraceID{1, 2}, SpanID: op.SpanID{1, 6: byte(i >> 8), 7: byte(i)}, ParentSpanID: op.SpanID{2},
			Service: "trainer",
		}
		all[i] = op.Record{Entry: e}
	}
	return all
}

const benchmarkRows = 20_000

func BenchmarkReadParquet(b *testing.B) {
	file := table(b, step(benchmarkRows))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "benchmark") {
			check.OK(b, err)
			n++
		}
		if n != benchmarkRows {
			b.Fatalf("%d records", n)
		}
	}
}

func BenchmarkWriteParquet(b *testing.B) {
	records := step(benchmarkRows)
	b.ReportAllocs()
	for b.Loop() {
		w := parquet.NewWriter(io.Discard)
		for _, rec := range records {
			check.OK(b, w.Entry(rec.Entry))
		}
		check.OK(b, w.Close())
	}
}

// writeJob writes some steps of two ranks.
func writeJob(w *parquet.Writer) error {
	var errs []error
	for rank := range int64(2) {
		errs = append(errs, w.Resource(&op.Resource{
			Service: "trainer", Rank: op.Known(rank), WorldSize: op.Known(2), Host: fmt.Sprint("node-", rank),
			Attrs: []op.Attr{{Key: "host.name", Value: fmt.Sprint("node-", rank)}},
		}))
		at := int64(1_760_000_000_000_000_000)
		for step := range int64(20) {
			entry := func(name string, kind op.Kind, start, duration int64) *op.Entry {
				return &op.Entry{
					Step: op.Known(step), Operation: name, Kind: kind, DeviceID: "cuda:0", Rank: op.Known(rank),
					Service: "trainer", Start: op.Known(start), Duration: duration,
					TraceID: op.TraceID{byte(rank), 1}, SpanID: op.SpanID{byte(rank), byte(step), byte(start)},
				}
			}
			computed := 100 + (step*37+rank*53)%90
			host := entry("matmul", op.KindCompute, at-50, 10)
			host.Side = op.SideHost
			reduce := entry("all_reduce", op.KindCollective, at+computed, 300-computed)
			reduce.Collective = &op.Collective{Name: "all_reduce", Group: "dp", Sequence: op.Known(step)}
			errs = append(errs, w.Entry(host), w.Entry(entry("matmul", op.KindCompute, at, computed)), w.Entry(reduce),
				w.Span(&op.Span{Name: "step", Start: op.Known(at), Duration: 400,
					SpanID: op.SpanID{9, byte(rank), byte(step)}}))
			at += 1000
		}
	}
	return errors.Join(append(errs, w.Close())...)
}

// writeQueries writes the blocks of a language in docs/queries.md to a file.
func writeQueries(t *testing.T, language, path string) {
	t.Helper()
	text := check.Must(os.ReadFile("../docs/queries.md"))(t)
	var blocks []string
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text),
		-1) {
		blocks = append(blocks, block[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the document has no block of %s", language)
	}
	check.OK(t, os.WriteFile(path, []byte(strings.Join(blocks, "\n")), 0o600))
}

// answersOf runs the queries in dir by an engine. It skips the test without the engine.
func answersOf(t *testing.T, engine, dir string) []byte {
	t.Helper()
	if _, err := os.Stat("peers/node_modules"); err != nil {
		t.Skip("there is no engine: npm install in parquet/peers, as .ci/queries does")
	}
	cmd := exec.CommandContext(t.Context(), "node", "peers/queries.mjs", engine, dir)
	cmd.Stderr = os.Stderr
	return check.Must(cmd.Output())(t)
}

// The queries of the documentation give the figures of the report.
func TestQueriesOfOtherEngines(t *testing.T) {
	dir := t.TempDir()
	var pages bytes.Buffer
	check.OK(t, writeJob(parquet.NewWriter(&pages)))
	check.OK(t, os.WriteFile(filepath.Join(dir, "ops.parquet"), pages.Bytes(), 0o600))
	report := check.Must(analyze.Run(t.Context(), ingest.Open(filepath.Join(dir, "ops.parquet")), analyze.Options{}))(t)
	// Numbers are compared as text, because JavaScript lacks integers of 64 bits.
	type row = map[string]string
	var operations, devices []row
	for _, o := range report.Operations {
		if o.Side == "" {
			operations = append(operations, row{"operation": o.Operation, "calls": fmt.Sprint(o.Count),
				"sum_ns": fmt.Sprint(o.SumNS)})
		}
	}
	for _, d := range report.Devices {
		devices = append(devices, row{
			"rank": d.Rank.String(), "device_id": d.DeviceID, "calls": fmt.Sprint(d.Count),
			"sum_ns": fmt.Sprint(d.SumNS), "span_ns": d.SpanNS.String(),
		})
	}
	if len(devices) == 2 && devices[0]["rank"] != "0" {
		devices[0], devices[1] = devices[1], devices[0]
	}
	c := report.Communication.Collectives[0]
	collectives := []row{{
		"name": c.Name, "grp": c.Group, "n": fmt.Sprint(c.Count), "transfer_ns": c.TransferNS.String(),
		"wait_ns": c.WaitNS.String(), "max_start_skew_ns": c.MaxStartSkewNS.String(),
	}}
	resources := []row{{"service": "trainer", "rank": "0", "host": "node-0"},
		{"service": "trainer", "rank": "1", "host": "node-1"}}
	metadata := []row{{"key": "optrace.schema", "value": op.Schema}}
	for _, engine := range []struct {
		name, language, file string
		want                 [][]row
	}{
		{"duckdb", "sql", "queries.sql", [][]row{operations, devices, collectives, resources, metadata}},
		{"polars", "js", "queries.js", [][]row{operations, devices}},
	} {
		t.Run(engine.name, func(t *testing.T) {
			writeQueries(t, engine.language, filepath.Join(dir, engine.file))
			var got [][]row
			check.OK(t, json.Unmarshal(answersOf(t, engine.name, dir), &got))
			check.Equal(t, fmt.Sprintf("%s against report", engine.name), engine.want, got)
		})
	}
}
