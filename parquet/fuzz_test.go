package parquet_test

import (
	"bytes"
	"os"
	"testing"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// FuzzRecords reads arbitrary bytes as a file.
func FuzzRecords(f *testing.F) {
	rows := []minimal{{"", "matmul", new(int64(1))}, {"span", "", nil}, {"", "relu", new(int64(2))}}
	small := []lib.WriterOption{lib.DataPageStatistics(false)}
	f.Add(foreign(f, rows, small...))
	f.Add(foreign(f, rows, append(small, lib.Compression(&lib.Snappy), lib.DataPageVersion(1))...))
	f.Add(foreign(f, rows, append(small, every(&lib.RLEDictionary, lib.ByteArray, lib.Int64)...)...))
	f.Add(foreign(f, []struct {
		Operation  string            `parquet:"operation,delta"`
		DurationNS int64             `parquet:"duration_ns,delta"`
		Shapes     [][]int64         `parquet:"input_shapes,list"`
		Attrs      map[string]string `parquet:"attrs"`
	}{{"matmul", 1, [][]int64{{2, 3}, {}}, map[string]string{"a": "b"}}}, small...))
	f.Add([]byte("PAR1\x00\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		// A small file may hold a million equal rows.
		const maxRecords = 1000
		recordtest.Check(t, func(yield func(op.Record, error) bool) {
			left := maxRecords
			for rec, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "fuzz") {
				if left--; left < 0 || !yield(rec, err) {
					return
				}
			}
		})
	})
}

// The table reads back unchanged with any names and times.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		var b bytes.Buffer
		w := parquet.NewWriter(&b)
		check.OK(t, w.Entry(e))
		check.OK(t, w.Close())
		var got []string
		for rec, err := range parquet.Records(&b, "table", parquet.MaxSpoolBytes) {
			check.OK(t, err)
			got = append(got, string(rec.Entry.AppendJSON(nil)))
		}
		check.Equal(t, "", []string{string(e.AppendJSON(nil))}, got)
	})
}

// docs/reliability.md, S4: damaged files never read as empty without an error.
func TestMutantsNeverReadEmpty(t *testing.T) {
	theirs := check.Must(os.ReadFile("testdata/duckdb.parquet"))(t)
	var ours bytes.Buffer
	w := parquet.NewWriter(&ours)
	for rec, err := range ingest.Open("testdata/duckdb.jsonl").Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			check.OK(t, w.Entry(rec.Entry))
		}
	}
	check.OK(t, w.Close())
	for name, sample := range map[string][]byte{"of DuckDB": theirs, "of optrace": ours.Bytes()} {
		t.Run(name, func(t *testing.T) {
			optest.Mutants(t, cases.Count(t, 100, 3000), sample, func(text []byte) optest.Found {
				return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
			})
		})
	}
}
