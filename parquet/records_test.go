package parquet_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// records holds copies of the records of a file.
type records struct {
	all  []op.Record
	bad  []string // unreadable rows
	fail string   // the final error
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
	got := &records{}
	for rec, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
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

// table writes records with Writer.
func table(t testing.TB, all []op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for _, rec := range all {
		check.OK(t, writeRecord(w, rec))
	}
	check.OK(t, w.Close())
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

func TestRoundTrip(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(1, 2))}
	for _, n := range []int{0, 1, 2, 255, 256, 257, 5000} {
		want := make([]op.Record, n)
		for i := range want {
			want[i] = r.Record()
		}
		for i, extreme := range []int64{math.MinInt64, -1, 0, math.MaxInt64}[:min(n, 4)] {
			e := r.Entry()
			e.Step = op.Known(extreme)
			want[i] = op.Record{Entry: e}
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
		check.Equal(t, "records", stop, n)
	}
}

// The reader reuses memory: it allocates per file, page and distinct text.
func TestAllocations(t *testing.T) {
	const n = 20_000
	file := table(t, step(n))
	allocs := testing.AllocsPerRun(3, func() {
		for _, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
			check.OK(t, err)
		}
	})
	if allocs/n > 0.1 {
		t.Errorf("%.2f allocations an entry", allocs/n)
	}
}
