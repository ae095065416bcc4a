package main

import (
	"slices"

	"github.com/optrace/optrace/bench/duckdb"
	"github.com/optrace/optrace/bench/export"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/processor"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
	"github.com/optrace/optrace/bench/seed"
)

// measures returns everything that is compared, in the order of the table.
func measures() []measure.Measure {
	return slices.Concat(
		record.Suite(),
		export.Suite(),
		processor.Suite(),
		read.Suite(),
		duckdb.Suite(),
		seed.Suite(),
	)
}
