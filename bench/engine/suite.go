package engine

import (
	"context"

	"github.com/optrace/optrace/bench/internal/data"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	duck      = "DuckDB"
	duckTuned = "DuckDB, tuned"
	ours      = "optrace report"
)

// Suite returns what is compared: whole processes that read a file in the page
// cache and print count, sum, minimum, maximum and the percentiles 50, 95 and 99
// of each operation and of each device. Both use as many threads as they like.
// Counts, sums and extremes must be the same, percentiles within 2 %.
func Suite() []measure.Measure {
	const million = 1_000_000
	entries := &measure.Suite{
		Name: "whole processes, entries", Unit: "op", Cold: true, Rounds: 9, QuickRounds: 3,
		Open: opener(workload.Entries, million, million, map[string]func(string) string{duck: entriesSQL}),
	}
	const quickOps = 200_000
	otlp := &measure.Suite{
		Name: "whole processes, OTLP JSON", Unit: "op", Cold: true, Rounds: 3, QuickRounds: 2,
		Open: opener(workload.OTLPJSON, million, quickOps, map[string]func(string) string{duck: otlpSQL, duckTuned: tunedOTLPSQL}),
	}
	return []measure.Measure{
		{Name: "profile_vs_duckdb", Target: 3, Cases: measure.Compare(entries, duck, ours), Wall: true,
			What: "entries JSONL, time of the whole process"},
		{Name: "profile_otlp_vs_duckdb", Target: 20, Cases: measure.Compare(otlp, duck, ours), Wall: true,
			What: "OTLP JSON Lines, read_json with types and unnest"},
		{Name: "profile_vs_duckdb_cpu", Cases: measure.Compare(entries, duck, ours),
			What: "entries JSONL, processor time of the whole process"},
		{Name: "profile_otlp_vs_duckdb_tuned", Cases: measure.Compare(otlp, duckTuned, ours), Wall: true,
			What: "OTLP JSON Lines, the fastest statement found"},
	}
}

func opener(f workload.Format, ops, quickOps int, statements map[string]func(path string) string) func(
	context.Context, *measure.Env, measure.Want) (*measure.Opened, error) {
	return func(ctx context.Context, env *measure.Env, _ measure.Want) (*measure.Opened, error) {
		db, err := newDuckDB(ctx, env)
		if err != nil {
			return nil, err
		}
		program, err := Build(ctx, env)
		if err != nil {
			return nil, err
		}
		file, err := data.Get(env, f, workload.Config{Ops: env.Size(ops, quickOps), Mix: workload.G512})
		if err != nil {
			return nil, err
		}
		return newSides(db, program, file, statements), nil
	}
}

// newSides returns the sides over a file.
func newSides(db *duckDB, program string, file data.File, statements map[string]func(path string) string) *measure.Opened {
	answers := map[string][]row{}
	sides := map[string]measure.Side{ours: func(ctx context.Context) (measure.Sample, error) {
		s, rows, err := report(ctx, program, file.Ops, file.Path)
		s.Sum, answers[ours] = digest(rows), rows
		return s, err
	}}
	for name, statement := range statements {
		sides[name] = func(ctx context.Context) (measure.Sample, error) {
			s, rows, err := db.query(ctx, file.Ops, statement(file.Path))
			s.Sum, answers[name] = digest(rows), rows
			return s, err
		}
	}
	return &measure.Opened{Sides: sides, Check: func() error {
		for name := range statements {
			if rows, ran := answers[name]; ran {
				if err := samePercentiles(rows, answers[ours]); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}
