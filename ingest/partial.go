package ingest

import (
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// errPartial is the error of partial results that the caller does not want.
var errPartial = &refusedError{"partial results of optrace convert -to profile: only optrace report reads them, without -html"}

// partialRecords yields a file of partial results.
func partialRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text, err := lineio.ReadUpTo(src, math.MaxInt)
		if err != nil {
			yield(op.Record{}, fmt.Errorf("reading partial results: %w", err))
			return
		}
		yield(op.Record{Partial: &op.Partial{File: name, Text: text}}, nil)
	}
}
