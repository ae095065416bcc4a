// Package process compares the command optrace, a whole process that reads a file
// and prints percentiles, with DuckDB, which answers the same, and with Python, which
// only loads the file.
package process

import (
	"context"
	"fmt"

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

// The limits, for the table.
const (
	limitEntries = "reading entries, see there; both cores are busy"
	limitParquet = "decompressing and decoding pages; shapes, which FLOPs follow from, row by row; starting the process"
	limitOTLP    = "reading OTLP JSON, see there; both cores are busy"
	limitKineto  = "instructions per byte; the copy out of the page cache is a fifth"
)

// Suite returns the comparisons: processes that read a file in the page cache and
// print count, sum, minimum, maximum and the percentiles 50, 95 and 99 of each
// operation and of each device. Both use as many threads as they like. Counts, sums
// and extremes must be the same, percentiles within 2 %. Python loads a trace of
// PyTorch's profiler and does nothing else.
func Suite() []measure.Measure {
	measures := []measure.Measure{
		{Name: "profile_vs_duckdb", Target: 2.5, Wall: true, Limit: limitEntries},
		{Name: "profile_otlp_vs_duckdb_tuned", Target: 7, Wall: true, Limit: limitOTLP},
		{Name: "profile_parquet_vs_duckdb", Target: 0.8, Limit: limitParquet},
	}
	const quickOTLP = 200_000
	for _, k := range []workload.Kind{workload.G512, workload.G1} {
		suite := func(name string, rounds, quickRounds int, in input) *measure.Suite {
			return &measure.Suite{
				Name: "whole processes, " + name + ", " + string(k), Unit: "op", Cold: true, Rounds: rounds, QuickRounds: quickRounds,
				Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
					return in.open(ctx, env, k)
				},
			}
		}
		entries := suite("entries", 9, 3, input{workload.Entries, million, false, statements{duck: entriesSQL}})
		table := suite("Parquet", 9, 3, input{workload.Entries, million, true, statements{duckFile: parquetSQL}})
		tuned := suite("OTLP JSON tuned", 5, 3, input{workload.OTLPJSON, quickOTLP, false, statements{duckTuned: tunedOTLPSQL}})
		for i, c := range []measure.Case{{Suite: entries, Peer: duck}, {Suite: tuned, Peer: duckTuned}, {Suite: table, Peer: duckFile}} {
			c.Data, c.Ours = string(k), ours
			measures[i].Cases = append(measures[i].Cases, c)
		}
	}
	kineto := measure.Measure{Name: "kineto_vs_python_json", Target: 6, Limit: limitKineto}
	for _, l := range []layout{indented, compact} {
		kineto.Cases = append(kineto.Cases, measure.Case{Data: string(l), Peer: python, Ours: ours, Suite: &measure.Suite{
			Name: "Kineto, " + string(l), Unit: "event", Cold: true, Rounds: 5, QuickRounds: 3,
			Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
				return openKineto(ctx, env, l)
			},
		}})
	}
	return append(measures, kineto)
}

// million is how many operations and events the files have.
const million = 1_000_000

// statements are DuckDB's, as functions of the path of a file, by the side.
type statements map[string]func(path string) string

// input is a file that optrace and DuckDB read.
type input struct {
	format   workload.Format
	quickOps int
	// parquet has optrace convert make a Parquet file of it.
	parquet bool
	statements
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
	answers := map[string][]row{}
	sides := map[string]measure.Side{ours: func(ctx context.Context) (measure.Sample, error) {
		s, out, err := measure.Command(ctx, file.Ops, program, reportArgs(file.Path)...)
		if err == nil {
			answers[ours], err = parseReport(out)
		}
		s.Sum = digest(answers[ours])
		return s, err
	}}
	for name, statement := range in.statements {
		sides[name] = func(ctx context.Context) (measure.Sample, error) {
			s, rows, err := db.query(ctx, file.Ops, statement(file.Path))
			s.Sum, answers[name] = digest(rows), rows
			return s, err
		}
	}
	return &measure.Opened{Sides: sides, Check: func() error {
		for name, rows := range answers {
			if err := samePercentiles(rows, answers[ours]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}}, nil
}

// reportArgs are the arguments of optrace for a report on a file, grouped by device.
func reportArgs(path string) []string {
	return []string{"report", "-json", "-by", "device", "-section", "summary", path}
}
