package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	lib "github.com/parquet-go/parquet-go"

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
			Step: op.Known(3), Operation: "all_reduce", Kind: op.KindCollective, OutputShape: op.Shape{2,
				3}, Duration: 600, MemoryBytes: op.Known(48),
			TraceID: op.TraceID{0xab, 15: 1}, Failed: true, Error: "timeout", AdjustedCount: 2.5,
			Warn:       op.WarnOverflow | op.WarnNoStart,
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
			DurationNS: new(int64(600)),
			Memory:     new(int64(48)), TraceID: new("ab000000000000000000000000000001"), Failed: new(true),
			Error: new("timeout"), Count: new(2.5),
			Warn: []string{"overflow", "no_start"}, Collective: &collective{Name: new("all_reduce"),
				GroupSize: new(int64(8))},
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
