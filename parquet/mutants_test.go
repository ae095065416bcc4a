package parquet_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/parquet"
)

// Damaged files never read as empty without a word.
func TestS4Mutants(t *testing.T) {
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
