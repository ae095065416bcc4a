package arrow_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/arrow"
)

// byColumns is the mapping of a reader that hands out rows.
var byColumns = (*op.Mapping)(nil).ByColumns()

// Columns hold what entries hold, in the same order, whatever the size of the batches and
// the compression.
func TestColumns(t *testing.T) {
	inColumns := 0
	for _, n := range []int{1, 64, 2000} {
		want := random(uint64(n), n)
		for i, rec := range want {
			if rec.Entry != nil && i%5 != 0 {
				makeUsual(rec.Entry)
			}
		}
		for _, size := range []int{0, 700} {
			for name, opts := range map[string][]render.Option{"plain": nil, "zstd": {render.WithZstd()}} {
				checkColumns(t, fmt.Sprintf("%d records by %d, %s", n, size, name), write(t, want, size, opts...), &inColumns)
			}
		}
	}
	if inColumns < 1000 {
		t.Errorf("%d operations in columns", inColumns)
	}
}

// makeUsual makes an entry one that columns may hold.
func makeUsual(e *op.Entry) {
	e.Warn, e.AdjustedCount, e.Error = 0, 0, ""
	if e.DType == "odd type" {
		e.DType = op.F16
	}
}

// The columns of other writers, and of any type.
func TestForeignColumns(t *testing.T) {
	inColumns := 0
	for _, path := range samples(t) {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkColumns(t, filepath.Base(path), file, &inColumns)
	}
	if inColumns == 0 {
		t.Error("no operations in columns")
	}
}

// checkColumns compares the records of a file with its columns: of a stream, and of parts.
func checkColumns(t *testing.T, name string, file []byte, inColumns *int) {
	t.Helper()
	want := collect(t, arrow.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.arrow", nil))
	for way, list := range map[string]iter.Seq2[op.Record, error]{
		"stream": arrow.Records(bytes.NewReader(file), "ops.arrow", byColumns),
		"file":   arrow.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.arrow", byColumns),
		"parts":  allParts(t, file),
	} {
		got := collect(t, recordtest.Expanded(t, list, inColumns))
		if way == "stream" && got.fail != "" { // where the schema stands at the end
			continue
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s, %s (-entries +columns):\n%.3000s", name, way, cmp.Diff(want, got, cmp.AllowUnexported(records{})))
		}
	}
}

// allParts yields the records of all parts of a file.
func allParts(t *testing.T, file []byte) iter.Seq2[op.Record, error] {
	t.Helper()
	return func(yield func(op.Record, error) bool) {
		parts, err := arrow.Parts(bytes.NewReader(file), int64(len(file)), "ops.arrow", byColumns, 1)
		if err != nil {
			parts = []iter.Seq2[op.Record, error]{arrow.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.arrow", byColumns)}
		}
		for _, p := range parts {
			p(yield)
		}
	}
}
