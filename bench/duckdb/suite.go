// Package duckdb compares the command optrace with DuckDB: whole processes that
// read a file and print percentiles.
package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	duck      = "DuckDB"
	duckTuned = "DuckDB, tuned"
	duckStart = "DuckDB, select 1"
	duckFile  = "DuckDB, Parquet"
	ours      = "optrace report"
)

// Suite returns the comparisons: processes that read a file in the page cache and
// print count, sum, minimum, maximum and the percentiles 50, 95 and 99 of each
// operation and of each device. Both use as many threads as they like. Counts, sums
// and extremes must be the same, percentiles within 2 %.
//
// A process with DuckDB takes long to start. So each comparison is there twice:
// with that, as a user waits for it, and without, the time of a process with
// "select 1" subtracted from DuckDB's and nothing from ours.
func Suite() []measure.Measure {
	const million = 1_000_000
	process := measure.Measure{
		Name: "profile_vs_duckdb", Target: 2.5, Wall: true, Limit: limitEntries, What: "entries JSONL, the whole process",
	}
	query := measure.Measure{Name: "profile_vs_duckdb_query", Wall: true, Limit: limitEntries, What: "entries JSONL, DuckDB's query alone"}
	cpu := measure.Measure{
		Name: "profile_vs_duckdb_cpu", Limit: limitEntries, What: "entries JSONL, processor time of the whole process",
	}
	otlp := measure.Measure{
		Name: "profile_otlp_vs_duckdb", Target: 20, Wall: true, Limit: limitOTLP, What: "OTLP JSON Lines, read_json with types and unnest",
	}
	tuned := measure.Measure{
		Name: "profile_otlp_vs_duckdb_tuned", Target: 6, Wall: true, Limit: limitOTLP, What: "OTLP JSON Lines, the fastest statement found",
	}
	tunedQuery := measure.Measure{
		Name: "profile_otlp_vs_duckdb_tuned_query", Wall: true, Limit: limitOTLP, What: "the same, DuckDB's query alone",
	}
	parquet := measure.Measure{
		Name: "profile_parquet_vs_duckdb", Target: 1, Limit: limitParquet,
		What: "a Parquet file, the same for both, processor time of the whole process",
	}
	for _, k := range []workload.Kind{workload.G512, workload.G1} {
		table := &measure.Suite{
			Name: "whole processes, Parquet, " + string(k), Unit: "op", Cold: true, Rounds: 9, QuickRounds: 3,
			Open: openParquet(k, million),
		}
		entries := &measure.Suite{
			Name: "whole processes, entries, " + string(k), Unit: "op", Cold: true, Rounds: 9, QuickRounds: 3,
			Open: opener(workload.Entries, k, million, million, map[string]func(string) string{duck: entriesSQL, duckStart: nil}),
		}
		const quickOps = 200_000
		documented := &measure.Suite{
			Name: "whole processes, OTLP JSON, " + string(k), Unit: "op", Cold: true, Rounds: 3, QuickRounds: 2,
			Open: opener(workload.OTLPJSON, k, million, quickOps, map[string]func(string) string{duck: otlpSQL}),
		}
		fastest := &measure.Suite{
			Name: "whole processes, OTLP JSON tuned, " + string(k), Unit: "op", Cold: true, Rounds: 5, QuickRounds: 3,
			Open: opener(workload.OTLPJSON, k, million, quickOps, map[string]func(string) string{duckTuned: tunedOTLPSQL, duckStart: nil}),
		}
		add := func(m *measure.Measure, s *measure.Suite, peer, less string) {
			m.Cases = append(m.Cases, measure.Case{Data: string(k), Suite: s, Peer: peer, Ours: ours, Less: less})
		}
		add(&parquet, table, duckFile, "")
		add(&process, entries, duck, "")
		add(&query, entries, duck, duckStart)
		add(&cpu, entries, duck, "")
		add(&otlp, documented, duck, "")
		add(&tuned, fastest, duckTuned, "")
		add(&tunedQuery, fastest, duckTuned, duckStart)
	}
	return []measure.Measure{process, otlp, tuned, parquet, query, cpu, tunedQuery}
}

// The limits, for the table.
const (
	limitEntries = "reading entries, see there; both cores are busy"
	limitParquet = "decompressing and decoding pages; shapes, which FLOPs follow from, row by row; starting the process"
	limitOTLP    = "reading OTLP JSON, see there; both cores are busy"
)

func opener(f workload.Format, k workload.Kind, ops, quickOps int, statements map[string]func(path string) string) func(
	context.Context, *measure.Env, measure.Want) (*measure.Opened, error) {
	return func(ctx context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
		db, program, err := programs(ctx, env)
		if err != nil {
			return nil, err
		}
		file, err := workload.Get(ctx, env, f, workload.Config{Ops: env.Size(ops, quickOps), Kind: k})
		if err != nil {
			return nil, err
		}
		return newSides(db, program, file, statements), nil
	}
}

// programs returns the two programs that are compared.
func programs(ctx context.Context, env *measure.Env) (db *duckDB, optrace string, err error) {
	if db, err = newDuckDB(ctx, env); err != nil {
		return nil, "", err
	}
	optrace, err = cache.Program(ctx, env.Cache, "", "./cmd/optrace")
	return db, optrace, err
}

// newSides returns the sides over a file. The side without a statement only starts.
func newSides(db *duckDB, program string, file workload.File, statements map[string]func(path string) string) *measure.Opened {
	answers := map[string][]row{}
	sides := map[string]measure.Side{ours: func(ctx context.Context) (measure.Sample, error) {
		s, rows, err := report(ctx, program, file.Ops, file.Path)
		s.Sum, answers[ours] = digest(rows), rows
		return s, err
	}}
	for name, statement := range statements {
		sides[name] = func(ctx context.Context) (measure.Sample, error) {
			if statement == nil {
				s, _, err := db.query(ctx, file.Ops, startSQL)
				return s, err
			}
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
	}}
}

// openParquet opens a suite over the Parquet file that optrace convert makes of entries.
func openParquet(k workload.Kind, ops int) func(context.Context, *measure.Env, measure.Want) (*measure.Opened, error) {
	return func(ctx context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
		db, program, err := programs(ctx, env)
		if err != nil {
			return nil, err
		}
		file, err := workload.Get(ctx, env, workload.Entries, workload.Config{Ops: ops, Kind: k})
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "optrace-bench-")
		if err != nil {
			return nil, err
		}
		remove := func() error { return os.RemoveAll(dir) }
		path := filepath.Join(dir, "ops.parquet")
		if _, _, err := measure.Command(ctx, 1, program, "convert", "-to", "parquet", "-o", path, file.Path); err != nil {
			return nil, errors.Join(err, remove())
		}
		file.Path = path
		opened := newSides(db, program, file, map[string]func(string) string{duckFile: parquetSQL})
		opened.Close = remove
		return opened, nil
	}
}
