package ingest

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/budget"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// errPartial says what a file is that is not asked for.
var errPartial = &refusedError{"sums that optrace convert -to profile wrote, and no operations: optrace report reads them, without -html"}

// partialChunk is how much of a file of partial results is read at a time.
const partialChunk = 64 << 10

// partialRecords yields a file of partial results. What it takes is held while the record
// is looked at.
func partialRecords(src io.Reader, name string, _ *attr.Mapping, hold func(bytes int64) error) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		var text []byte
		held := budget.Account{Hold: hold}
		defer held.Free()
		for {
			if len(text) == cap(text) {
				text = slices.Grow(text, max(partialChunk, cap(text)))
				if err := held.Set(int64(cap(text)), 1); err != nil {
					yield(op.Record{}, err)
					return
				}
			}
			n, err := src.Read(text[len(text):cap(text)])
			text = text[:len(text)+n]
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(op.Record{}, fmt.Errorf("reading partial results: %w", err))
				return
			}
		}
		yield(op.Record{Partial: &op.Partial{File: name, Text: text}}, nil)
	}
}
