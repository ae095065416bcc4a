package arrow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/fulldisk"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/arrow"
)

// writeSample writes records of each kind in two batches.
func writeSample(out io.Writer) error {
	w := arrow.NewWriter(out)
	return errors.Join(
		w.Resource(&op.Resource{Attrs: []op.Attr{{Key: "host.name", Value: "n1"}}}),
		w.Batch(&op.Batch{Writer: "w-1", Sequence: 7, Entries: 2}),
		w.Entry(&op.Entry{
			Step: op.Known(3), Operation: "all_reduce", Kind: op.KindCollective, InputShapes: []op.Shape{{2, 3}, nil, {}},
			OutputShape: op.Shape{2, 3}, Duration: 600, MemoryBytes: op.Known(48), TraceID: op.TraceID{0xab, 15: 1}, Failed: true,
			Error: "timeout", AdjustedCount: 2.5, Warn: op.WarnOverflow | op.WarnNoStart,
			Collective: &op.Collective{Name: "all_reduce", GroupSize: op.Known(8)},
		}),
		w.Flush(),
		w.Entry(&op.Entry{Operation: "relu", Kind: op.KindCompute, Duration: 5, SpanID: op.SpanID{1, 7: 2}, TraceID: op.TraceID{1}}),
		w.Span(&op.Span{Name: "step", Duration: 5, Links: []op.Link{{TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, Weight: op.Known(3)}}}),
		w.Gap(&op.Gap{Dropped: 12}),
		w.Close(),
	)
}

// peers runs the programs of other makers, or skips the test where they are not
// installed.
func peers(t *testing.T, args ...string) []byte {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on the PATH: .ci/arrow installs what this needs")
	}
	for _, module := range []string{"apache-arrow", "nodejs-polars", "@duckdb/node-api"} {
		if _, err := os.Stat("peers/node_modules/" + module); err != nil {
			t.Skip(module + " is not installed: npm install in render/arrow/peers, as .ci/arrow does")
		}
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{"peers/peers.mjs"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The stream means to other readers what the records say, in rows that are null
// but for what they say.
func TestRowsInOtherReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.arrows")
	var b bytes.Buffer
	if err := writeSample(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	type row = map[string]any
	var got map[string][]row
	if err := json.Unmarshal(peers(t, "read", path), &got); err != nil {
		t.Fatal(err)
	}
	for reader, rows := range got {
		// apache-arrow has 64-bit integers as strings here, maps as objects.
		n := func(v int64) any { return float64(v) }
		id := func(v int64) any { return strconv.FormatInt(v, 10) } // is too large for a number
		attrs := any([]any{row{"key": "host.name", "value": "n1"}})
		if reader == "apache-arrow" {
			n = func(v int64) any { return strconv.FormatInt(v, 10) }
			attrs = row{"host.name": "n1"}
		}
		want := []row{
			{"record": "resource", "attrs": attrs},
			{"record": "batch", "batch": row{"writer": "w-1", "seq": n(7), "entries": n(2)}},
			{
				"record": "entry", "step": n(3), "operation": "all_reduce", "kind": "collective", "kind_rule": "attribute",
				"input_shapes": []any{[]any{n(2), n(3)}, nil, []any{}}, "output_shape": []any{n(2), n(3)}, "duration_ns": n(600),
				"memory_bytes": n(48), "trace_id": "ab000000000000000000000000000001", "failed": true, "error": "timeout",
				"adjusted_count": 2.5, "dropped_attributes": n(0), "warn": []any{"overflow", "no_start"},
				"collective": row{
					"name": "all_reduce", "group": nil, "group_size": n(8), "sequence": nil, "peer_rank": nil, "in_elements": nil,
					"out_elements": nil,
				},
			},
			{
				"record": "entry", "operation": "relu", "kind": "compute", "kind_rule": "attribute", "duration_ns": n(5), "failed": false,
				"trace_id": "01000000000000000000000000000000", "span_id": id(0x0100000000000002), "dropped_attributes": n(0),
			},
			{
				"record": "span", "name": "step", "duration_ns": n(5), "failed": false, "parent_remote": false,
				"links": []any{row{"trace_id": "01000000000000000000000000000000", "span_id": id(0x0200000000000000), "weight": n(3)}},
			},
			{"record": "gap", "gap": row{"dropped": n(12), "reason": nil}},
		}
		for _, r := range rows {
			for name, v := range r {
				if v == nil {
					delete(r, name)
				}
			}
		}
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reader, diff)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d readers", len(got))
	}
}

// Other readers come to the same sums, over batches with dictionaries of their own.
func TestSumsInOtherReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.arrows")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := arrow.NewWriter(f)
	want := map[string]int64{}
	for i := range int64(40_000) {
		e := op.Entry{Operation: "op" + strconv.FormatInt(i/9_000+i%7, 10), Kind: op.KindCompute, Duration: i, Start: op.Known(i)}
		want[e.Operation] += i
		if err := w.Entry(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	checkSums(t, path, want)
}

// checkSums compares the durations of each operation that other readers find.
func checkSums(t *testing.T, path string, want map[string]int64) {
	t.Helper()
	var got map[string]map[string]json.RawMessage
	if err := json.Unmarshal(peers(t, "sum", path), &got); err != nil {
		t.Fatal(err)
	}
	for reader, sums := range got {
		numbers := map[string]int64{}
		for name, text := range sums {
			n, err := strconv.ParseInt(string(bytes.Trim(text, `"`)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			numbers[name] = n
		}
		if diff := cmp.Diff(want, numbers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reader, diff)
		}
	}
}

// The exporter's streams, are opened by other readers, and have
// the same sums.
func TestExportedInOtherReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.arrows")
	exp, err := optrace.NewFileExporter(path, optrace.WithFormat(optrace.FormatArrow))
	if err != nil {
		t.Fatal(err)
	}
	proc, err := optrace.NewProcessor(exp)
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	tracer := optrace.NewTracer(tp)
	for i := range 40_000 {
		ctx, request := tp.Tracer("app").Start(t.Context(), "request")
		_, o := tracer.Start(ctx, "op"+strconv.Itoa(i%7+i/9000), "cuda:0")
		o.Out(int64(i % 11)).End()
		request.End()
		if i == 500 {
			if err := proc.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for rec, err := range ingest.Open(path).Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil {
			want[rec.Entry.Operation] += rec.Entry.Duration
		}
	}
	checkSums(t, path, want)
}

// A failed write is told, wherever it happens, and stays.
func TestWriteErrors(t *testing.T) {
	write := func(out io.Writer) error {
		w := arrow.NewWriter(out)
		for range 20_000 {
			_ = w.Entry(&op.Entry{Operation: "relu"}) // Close tells
		}
		err := w.Close()
		if again := w.Close(); again == nil {
			t.Error("closed twice without an error")
		}
		return err
	}
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 100_000, whole.Len() - 1} {
		if err := write(&fulldisk.Writer{Left: n}); err == nil || err.Error() != "writing arrow: disk full" {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

// Batches are the same whatever was in those before.
func TestBatchesDependOnNothing(t *testing.T) {
	var once, twice bytes.Buffer
	w := arrow.NewWriter(&once)
	if err := errors.Join(w.Flush(), writeEntries(w)); err != nil {
		t.Fatal(err)
	}
	w = arrow.NewWriter(&twice)
	if err := errors.Join(w.Flush(), writeEntries(w)); err != nil {
		t.Fatal(err)
	}
	start := twice.Len()
	if err := writeEntries(w); err != nil {
		t.Fatal(err)
	}
	if first := once.Bytes()[once.Len()-(twice.Len()-start):]; !bytes.Equal(first, twice.Bytes()[start:]) {
		t.Error("the second batch of the same entries differs from the first")
	}
}

func writeEntries(w *arrow.Writer) error {
	var err error
	for i := range int64(100) {
		err = errors.Join(err, w.Entry(&op.Entry{
			Operation: []string{"matmul", "relu"}[i%2], Step: op.Known(i / 3), OutputShape: op.Shape{i % 5}, InputShapes: []op.Shape{},
			TraceID: op.TraceID{1, 15: byte(i % 4)}, Duration: i,
		}))
	}
	return errors.Join(err, w.Flush())
}
