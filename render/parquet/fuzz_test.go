package parquet_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	ingest "github.com/optrace/optrace/ingest/parquet"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
	"github.com/optrace/optrace/render/parquet"
)

// Whatever names and times are, the table reads back as what was written.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		var b bytes.Buffer
		w := parquet.NewWriter(&b)
		if err := w.Entry(e); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for rec, err := range ingest.Records(&b, "table", nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(rec.Entry.AppendJSON(nil)))
		}
		if diff := cmp.Diff([]string{string(e.AppendJSON(nil))}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
