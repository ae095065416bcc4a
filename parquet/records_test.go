package parquet_test

import (
	"bytes"
	"errors"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// records are what a file holds, each of them copied.
type records struct {
	all  []op.Record
	bad  []string // what could not be read
	fail string   // what ended reading
}

// entries returns the entries among the records.
func (r *records) entries() []*op.Entry {
	var list []*op.Entry
	for _, rec := range r.all {
		if rec.Entry != nil {
			list = append(list, rec.Entry)
		}
	}
	return list
}

// read reads a whole file.
func read(t testing.TB, file []byte) *records {
	t.Helper()
	return collect(t, parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet"))
}

// collect copies records.
func collect(t testing.TB, list iter.Seq2[op.Record, error]) *records {
	t.Helper()
	got := &records{}
	for rec, err := range list {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			got.bad = append(got.bad, syntax.Msg)
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

// table writes records as this project does.
func table(t testing.TB, all []op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for _, rec := range all {
		if err := writeRecord(w, rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeRecord(w *parquet.Writer, rec op.Record) error {
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

// What is written reads back as it was, record by record.
func TestRoundTrip(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(1, 2))}
	for _, n := range []int{0, 1, 2, 255, 256, 257, 5000} {
		want := make([]op.Record, n)
		for i := range want {
			want[i] = r.Record()
		}
		got := read(t, table(t, want))
		if got.fail != "" || len(got.bad) > 0 {
			t.Fatalf("%d records: %q, %q", n, got.bad, got.fail)
		}
		if diff := cmp.Diff(want, append([]op.Record{}, got.all...)); diff != "" {
			t.Fatalf("%d records read back (-want +got):\n%s", n, diff)
		}
	}
}

// Entries that differ in nothing take next to no space, and are still all there.
func TestRoundTripOfRowGroups(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	e := recordtest.Random{Rand: rand.New(rand.NewPCG(3, 4))}.Entry()
	const n = 133_000 // two row groups
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for i := range int64(n) {
		e.Step = op.Known(i)
		if err := w.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	for rec, err := range parquet.RecordsAt(bytes.NewReader(b.Bytes()), int64(b.Len()), "ops.parquet") {
		if err != nil {
			t.Fatal(err)
		}
		e.Step = op.Known(i)
		if i%1000 == 0 && !cmp.Equal(e, rec.Entry) {
			t.Fatalf("entry %d (-want +got):\n%s", i, cmp.Diff(e, rec.Entry))
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries, want %d", i, n)
	}
}

// A consumer may stop at any record.
func TestStop(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(5, 6))}
	file := table(t, []op.Record{r.Record(), r.Record(), r.Record()})
	for stop := 1; stop <= 3; stop++ {
		n := 0
		for range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("%d records, want %d", n, stop)
		}
	}
}
