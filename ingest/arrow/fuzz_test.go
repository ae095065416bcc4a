package arrow_test

import (
	"bytes"
	"iter"
	"os"
	"testing"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/arrow"
)

// FuzzRecords reads arbitrary bytes as a stream or file, whole and in parts.
func FuzzRecords(f *testing.F) {
	for _, path := range samples(f) {
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add(write(f, random(1, 5), 2))
	f.Add(write(f, random(1, 3), 0, render.WithLZ4()))
	f.Fuzz(func(t *testing.T, file []byte) {
		const maxRecords = 1000
		recordtest.Check(t, first(maxRecords, arrow.Records(bytes.NewReader(file), "fuzz", nil)))
		inColumns := 0
		inRows := arrow.RecordsAt(bytes.NewReader(file), int64(len(file)), "fuzz", byColumns)
		recordtest.Check(t, first(maxRecords, recordtest.Expanded(t, inRows, &inColumns)))
		parts, err := arrow.Parts(bytes.NewReader(file), int64(len(file)), "fuzz", nil, 1)
		if err != nil {
			return
		}
		for _, p := range parts {
			recordtest.Check(t, first(maxRecords, p))
		}
	})
}

// first yields at most n records.
func first(n int, records iter.Seq2[op.Record, error]) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		left := n
		for rec, err := range records {
			if left--; left < 0 || !yield(rec, err) {
				return
			}
		}
	}
}
