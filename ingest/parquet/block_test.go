package parquet_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/ingest/parquet"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// byColumns is the mapping of a reader that hands out rows.
var byColumns = (*op.Mapping)(nil).ByColumns()

// Columns hold what entries hold, in the same order.
func TestColumns(t *testing.T) {
	inColumns, most := 0, cases.Count(t, 1000, 5000)
	for _, n := range []int{1, 255, most} {
		r := recordtest.Random{Rand: rand.New(rand.NewPCG(uint64(n), 3))}
		var all []op.Record
		for i := range n {
			rec := r.Record()
			if rec.Entry != nil && i%5 != 0 {
				makeUsual(rec.Entry)
			}
			all = append(all, rec)
		}
		file := write(t, all)
		checkColumns(t, fmt.Sprintf("%d records", n), file, &inColumns)
		for _, version := range []int{1, 2} {
			name := fmt.Sprintf("%d records in small pages of version %d", n, version)
			checkColumns(t, name, rewritten(t, file, version), &inColumns)
		}
	}
	if inColumns < most/5 {
		t.Errorf("%d operations in columns", inColumns)
	}
}

// rewritten returns a file with the same rows in small pages and row groups.
func rewritten(t *testing.T, file []byte, version int) []byte {
	t.Helper()
	f, err := lib.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := lib.NewGenericWriter[any](&b, f.Schema(), lib.PageBufferSize(700), lib.MaxRowsPerRowGroup(1100), lib.DataPageVersion(version),
		lib.DictionaryMaxBytes(500), lib.KeyValueMetadata("optrace.schema", op.Schema))
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		if _, err := lib.CopyRows(w, rows); err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// makeUsual makes an entry one that columns may hold.
func makeUsual(e *op.Entry) {
	e.Warn, e.AdjustedCount, e.Failed, e.Error = 0, 0, false, ""
	if e.DType == "odd type" {
		e.DType = op.F16
	}
}

// The columns of other writers.
func TestColumnsOfOthers(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, paths)
	}
	inColumns := 0
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkColumns(t, filepath.Base(path), file, &inColumns)
	}
}

// checkColumns compares the records of a file with its columns.
func checkColumns(t *testing.T, name string, file []byte, inColumns *int) {
	t.Helper()
	list := func(m *op.Mapping) iter.Seq2[op.Record, error] {
		return parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet", m)
	}
	want, got := collect(t, list(nil)), collect(t, recordtest.Expanded(t, list(byColumns), inColumns))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(records{})); diff != "" {
		t.Errorf("%s (-entries +columns):\n%.3000s", name, diff)
	}
}

// Damage leads to errors, whatever it hits, and never to a panic.
func TestFlippedBytesOfColumns(t *testing.T) {
	file := smallFile(t)
	for i := range cases.Some(t, 400, len(file)) {
		damaged := bytes.Clone(file)
		damaged[i] ^= [...]byte{0x01, 0x80, 0xff}[i%3]
		for rec := range parquet.RecordsAt(bytes.NewReader(damaged), int64(len(damaged)), "damaged", byColumns) {
			if rec.Rows != nil {
				for _, k := range rec.Rows.List {
					recordtest.RowOf(rec.Rows, int(k))
					rec.Rows.Entry(int(k))
				}
			}
		}
	}
}
