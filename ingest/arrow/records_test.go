package arrow_test

import (
	"bytes"
	"errors"
	"iter"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/internal/race"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/arrow"
)

// records are what a file holds, each of them copied.
type records struct {
	all  []op.Record
	bad  []string // what could not be read
	torn bool     // the last of these is what was cut off
	fail string   // what ended reading
}

// collect reads records to their end.
func collect(t testing.TB, list iter.Seq2[op.Record, error]) *records {
	t.Helper()
	got := &records{}
	for rec, err := range list {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			got.bad = append(got.bad, syntax.Msg)
			got.torn = syntax.Truncated
		case err != nil:
			got.fail = err.Error()
		default:
			if rec.Entry != nil {
				if err := rec.Entry.Validate(); err != nil {
					t.Errorf("invalid entry %s: %v", rec.Entry.AppendJSON(nil), err)
				}
			}
			got.all = append(got.all, recordtest.Clone(rec))
		}
	}
	return got
}

// read reads a whole file.
func read(t testing.TB, file []byte) *records {
	t.Helper()
	return collect(t, arrow.Records(bytes.NewReader(file), "ops.arrow", nil))
}

// readParts reads a file in parts.
func readParts(t testing.TB, file []byte, partBytes int) (got *records, n int) {
	t.Helper()
	parts, err := arrow.Parts(bytes.NewReader(file), int64(len(file)), "ops.arrow", nil, partBytes)
	if err != nil {
		t.Fatal(err)
	}
	got = &records{}
	for _, p := range parts {
		one := collect(t, p)
		got.all, got.bad = append(got.all, one.all...), append(got.bad, one.bad...)
		got.torn, got.fail = got.torn || one.torn, got.fail+one.fail
	}
	return got, len(parts)
}

// random returns n random records.
func random(seed uint64, n int) []op.Record {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(seed, 2))}
	list := make([]op.Record, n)
	for i := range list {
		list[i] = r.Record()
	}
	return list
}

// write writes records as this project does, in batches of size records.
func write(t testing.TB, all []op.Record, size int, opts ...render.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := render.NewWriter(&b, opts...)
	for i, rec := range all {
		err := writeRecord(w, rec)
		if size > 0 && (i+1)%size == 0 {
			err = errors.Join(err, w.Flush())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeRecord(w *render.Writer, rec op.Record) error {
	switch {
	case rec.Entry != nil:
		return w.Entry(rec.Entry)
	case rec.Span != nil:
		return w.Span(rec.Span)
	case rec.Resource != nil:
		return w.Resource(rec.Resource)
	case rec.Gap != nil:
		return w.Gap(rec.Gap)
	}
	return w.Batch(rec.Batch)
}

// What is written reads back as it was, record by record, whatever the size of the
// batches, the compression and the parts.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 65, 700} {
		want := random(uint64(n), n)
		for _, size := range []int{0, 1, 64, 500} {
			for name, opts := range map[string][]render.Option{"plain": nil, "lz4": {render.WithLZ4()}, "zstd": {render.WithZstd()}} {
				file := write(t, want, size, opts...)
				got := read(t, file)
				if got.fail != "" || len(got.bad) > 0 {
					t.Fatalf("%d records by %d, %s: %q, %q", n, size, name, got.bad, got.fail)
				}
				if !reflect.DeepEqual(want, append([]op.Record{}, got.all...)) {
					t.Fatalf("%d records by %d, %s, read back (-want +got):\n%s", n, size, name, cmp.Diff(want, got.all))
				}
				inParts, parts := readParts(t, file, 1)
				if !reflect.DeepEqual(want, append([]op.Record{}, inParts.all...)) || inParts.fail != "" || len(inParts.bad) > 0 {
					t.Fatalf("%d records by %d, %s, in %d parts: %q, %q (-want +got):\n%s",
						n, size, name, parts, inParts.bad, inParts.fail, cmp.Diff(want, inParts.all))
				}
				if size > 0 && parts < n/size {
					t.Fatalf("%d records by %d: %d parts", n, size, parts)
				}
			}
		}
	}
}

// A batch ends where its rows are many, or long.
func TestBatchesEnd(t *testing.T) {
	for _, test := range []struct {
		name string
		rows int
		path string
		want int
	}{
		{"many", 1 << 15, "", 2},
		{"long", 150, string(bytes.Repeat([]byte("x"), 1<<20)), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all []op.Record
			for i := range test.rows {
				all = append(all, op.Record{Entry: &op.Entry{Operation: "relu", Path: test.path[:max(0, len(test.path)-i)], Step: op.Known(int64(i))}})
			}
			got, parts := readParts(t, write(t, all, 0), 1)
			if len(got.all) != test.rows || parts != test.want+1 { // and the end
				t.Errorf("%d rows in %d parts, want %d in %d", len(got.all), parts, test.rows, test.want+1)
			}
			for i, rec := range got.all {
				if rec.Entry.Step != op.Known(int64(i)) { // of which each has its place in a dictionary
					t.Fatalf("row %d has step %v", i, rec.Entry.Step)
				}
			}
		})
	}
}

// A stream that was cut off anywhere has all batches that are there as a whole, and
// says that it was cut off, unless it was between batches.
func TestTornTail(t *testing.T) {
	const size = 20
	want := random(9, 3*size)
	var b bytes.Buffer
	w := render.NewWriter(&b)
	whole := map[int]int{} // the number of records by the length of what holds them
	for i, rec := range want {
		if err := writeRecord(w, rec); err != nil {
			t.Fatal(err)
		}
		if (i+1)%size == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			whole[b.Len()] = i + 1
		}
	}
	file := b.Bytes()
	records := 0
	for n := 1; n <= len(file); n++ {
		complete, ok := whole[n]
		if ok {
			records = complete
		} else if n > 500 && n%17 != 0 || race.Enabled && n%5 != 0 {
			continue
		}
		checkTorn(t, file[:n], want[:records], !ok, read(t, file[:n]))
		if records > 0 {
			got, _ := readParts(t, file[:n], 1)
			checkTorn(t, file[:n], want[:records], !ok, got)
		}
	}
}

func checkTorn(t *testing.T, file []byte, want []op.Record, torn bool, got *records) {
	t.Helper()
	if got.torn != torn || got.fail != "" || len(got.bad) > 1 {
		t.Fatalf("%d bytes: torn is %t, want %t: %q %q", len(file), got.torn, torn, got.bad, got.fail)
	}
	if len(want)+len(got.all) > 0 && !reflect.DeepEqual(want, got.all) {
		t.Fatalf("%d bytes (-want +got):\n%s", len(file), cmp.Diff(want, got.all))
	}
}

// An operation may have more dimensions than an index of 16 bits tells apart.
func TestManyDimensions(t *testing.T) {
	e := op.Entry{Operation: "concat", Kind: op.KindMemory, OutputShape: op.Shape{1 << 40, op.Dynamic}}
	for i := range int64(op.MaxInputs) {
		var s op.Shape
		for k := range int64(op.MaxRank) {
			s = append(s, i*op.MaxRank+k)
		}
		e.InputShapes = append(e.InputShapes, s)
	}
	want := []op.Record{{Entry: &e}, {Entry: &op.Entry{Operation: "relu", Kind: op.KindCompute, OutputShape: op.Shape{7, 8}}}}
	got := read(t, write(t, want, 1))
	if len(got.all) != len(want) {
		t.Fatalf("%d records: %q, %q", len(got.all), got.bad, got.fail)
	}
	for i, rec := range got.all {
		if diff := cmp.Diff(want[i].Entry.InputShapes, rec.Entry.InputShapes); diff != "" {
			t.Errorf("inputs of operation %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(want[i].Entry.OutputShape, rec.Entry.OutputShape); diff != "" {
			t.Errorf("output of operation %d (-want +got):\n%s", i, diff)
		}
	}
}
