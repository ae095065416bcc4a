// Package process compares the command optrace, a whole process that reads a file
// and prints percentiles, with DuckDB, which answers the same, and with Python, which
// only loads the file.
package process

import (
	"context"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	duck      = "DuckDB"
	duckTuned = "DuckDB, tuned"
	duckFile  = "DuckDB, Parquet"
	python    = "python3, json.load"
	ours      = "optrace report"
)

// Suite returns the comparisons: processes that read a file in the page cache and
// print count, sum, minimum, maximum and the percentiles 50, 95 and 99 of each
// operation and of each device. Both use as many threads as they like. Counts, sums
// and extremes must be the same, percentiles within 2 %. Python loads a trace of
// PyTorch's profiler and does nothing else.
func Suite() []measure.Measure {
	measures := []measure.Measure{
		{Name: "profile_vs_duckdb", Target: 2.5, Wall: true, Limit: "reading entries, see there; both cores are busy"},
		{Name: "profile_otlp_vs_duckdb_tuned", Target: 7, Wall: true, Limit: "reading OTLP JSON, see there; both cores are busy"},
		{
			Name: "profile_parquet_vs_duckdb", Target: 0.8,
			Limit: "decompressing and decoding pages; shapes, which FLOPs follow from, row by row; starting the process",
		},
	}
	const quickOTLP = 200_000
	for i, in := range []input{
		{"entries", workload.Entries, million, false, 9, duck, entriesSQL},
		{"OTLP JSON tuned", workload.OTLPJSON, quickOTLP, false, 5, duckTuned, tunedOTLPSQL},
		{"Parquet", workload.Entries, million, true, 9, duckFile, parquetSQL},
	} {
		s := measure.Suite{Name: "whole processes, " + in.name, Unit: "op", Cold: true, Rounds: in.rounds, QuickRounds: 3}
		measures[i].Cases = measure.Over(s, []workload.Kind{workload.G512, workload.G1}, in.open)(in.peer, ours)
	}
	kineto := measure.Suite{Name: "Kineto", Unit: "event", Cold: true, Rounds: 5, QuickRounds: 3}
	return append(measures, measure.Measure{
		Name: "kineto_vs_python_json", Target: 6, Limit: "instructions per byte; the copy out of the page cache is a fifth",
		Cases: measure.Over(kineto, []layout{indented, compact}, openKineto)(python, ours),
	})
}

// million is how many operations and events the files have.
const million = 1_000_000

// input is a file that optrace and DuckDB read.
type input struct {
	name     string
	format   workload.Format
	quickOps int
	parquet  bool // optrace convert makes a Parquet file of it
	rounds   int
	// peer is the side of DuckDB, and source the rows that it sums up.
	peer, source string
}

func (in *input) open(ctx context.Context, env *measure.Env, k workload.Kind) (*measure.Opened, error) {
	db, err := newDuckDB(ctx, env)
	if err != nil {
		return nil, err
	}
	program, err := env.OptraceProgram(ctx)
	if err != nil {
		return nil, err
	}
	file, err := workload.Get(ctx, env, in.format, workload.Config{Ops: env.Size(million, in.quickOps), Kind: k})
	if err != nil {
		return nil, err
	}
	if in.parquet {
		table := file.Path + ".parquet"
		if _, _, err := measure.Command(ctx, 1, program, "convert", "-to", "parquet", "-o", table, file.Path); err != nil {
			return nil, err
		}
		file.Path = table
	}
	var answer, theirs []row
	return &measure.Opened{Sides: map[string]measure.Side{
		ours: func(ctx context.Context) (measure.Sample, error) {
			s, out, err := measure.Command(ctx, file.Ops, program, reportArgs(file.Path)...)
			if err == nil {
				answer, err = parseReport(out)
			}
			s.Sum = digest(answer)
			return s, err
		},
		in.peer: func(ctx context.Context) (s measure.Sample, err error) {
			s, theirs, err = db.query(ctx, file.Ops, summary(in.source, file.Path))
			s.Sum = digest(theirs)
			return s, err
		},
	}, Check: func() error { return samePercentiles(theirs, answer) }}, nil
}

// reportArgs are the arguments of optrace for a report on a file, grouped by device.
func reportArgs(path string) []string {
	return []string{"report", "-json", "-by", "device", "-section", "summary", path}
}
