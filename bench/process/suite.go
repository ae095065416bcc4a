// Package process compares the command optrace with DuckDB, as whole processes. Each reads a file and
// prints percentiles.
package process

import (
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
)

// The sides of the suites.
const (
	duck      = "DuckDB"
	duckTuned = "DuckDB, tuned"
	duckFile  = "DuckDB, Parquet"
	ours      = "optrace report"
)

// Suite returns the comparisons. Each process reads a file in the page cache and prints count, sum,
// minimum, maximum and the percentiles 50, 95 and 99 of each operation and of each device. Both use
// all cores. Counts, sums and extremes must be identical.
func Suite() []measure.Measure {
	measures := []measure.Measure{
		{Name: "profile_vs_duckdb", Target: 2.5, Wall: true, Limit: "reading entries, see there; both cores are busy"},
		{
			Name: "profile_otlp_vs_duckdb_tuned", Target: 7, Wall: true,
			Limit: "reading OTLP JSON, see there; both cores are busy",
		},
		{
			Name: "profile_parquet_vs_duckdb", Target: 0.8,
			Limit: "rows of all columns a half, lists of shapes a seventh, sums a fifth, decompressing and decoding " +
				"pages a tenth; the peer reads the columns it needs",
		},
	}
	const quickOTLP = 200_000
	for i, in := range []input{
		{"entries", workload.Entries, million, false, 9, duck, entriesSQL},
		{"OTLP JSON tuned", workload.OTLPJSON, quickOTLP, false, 5, duckTuned, tunedOTLPSQL},
		{"Parquet", workload.Entries, million, true, 9, duckFile, parquetSQL},
	} {
		s := measure.Suite{Name: "whole processes, " + in.name, Unit: "op", Cold: true, Rounds: in.rounds,
			QuickRounds: 3}
		measures[i].Cases = measure.Over(s, []workload.Kind{workload.G512, workload.G1}, in.open)(in.peer, ours)
	}
	return measures
}

const million = 1_000_000 // the number of operations in a file

// input is a file for both processes.
type input struct {
	name     string
	format   workload.Format
	quickOps int
	parquet  bool // convert the file to Parquet
	rounds   int
	// peer is the side of DuckDB; source selects its rows.
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
		if _, _, err := measure.Command(ctx, 1, program, "convert", "-to", "parquet", "-o", table,
			file.Path); err != nil {
			return nil, err
		}
		file.Path = table
	}
	args := []string{"report", "-json", "-by", "device", "-section", "summary", file.Path}
	return &measure.Opened{Sides: map[string]measure.Side{
		ours: func(ctx context.Context) (measure.Sample, error) {
			s, out, err := measure.Command(ctx, file.Ops, program, args...)
			if err != nil {
				return s, err
			}
			rows, err := parseReport(out)
			s.Sum = digest(rows)
			return s, err
		},
		in.peer: func(ctx context.Context) (measure.Sample, error) {
			s, rows, err := db.query(ctx, file.Ops, summary(in.source, file.Path))
			s.Sum = digest(rows)
			return s, err
		},
	}}, nil
}

// summary returns the statement that computes all figures in one pass over the rows of source, a
// statement with a place for the path. Its columns are operation, device and ns.
func summary(source, path string) string {
	return fmt.Sprintf(`
with t as (%s)
select case when grouping(operation) = 0 then 'operation ' || operation else 'device ' || device end as name,
  count(*)::double as count, sum(ns)::double as sum, min(ns)::double as min, max(ns)::double as max,
  quantile_cont(ns, [0.5, 0.95, 0.99]) as percentiles
from t where operation is not null
group by grouping sets ((operation), (device))`, fmt.Sprintf(source, strings.ReplaceAll(path, "'", "''")))
}

// entriesSQL reads three columns of entries JSONL with their types, so that DuckDB neither guesses
// types nor reads other columns.
const entriesSQL = `select operation, device_id as device, duration_ns as ns from read_json('%s',
  format = 'newline_delimited', columns = {operation: 'VARCHAR', device_id: 'VARCHAR', duration_ns: 'BIGINT'})`

// parquetSQL reads the rows of entries in a file of optrace convert.
const parquetSQL = "select operation, device_id as device, duration_ns as ns from read_parquet('%s') " +
	"where record = 'entry'"

// tunedOTLPSQL is the fastest statement found for OTLP JSON Lines. from_json extracts the needed
// fields, and the bound on the size of lines lets both threads work.
const tunedOTLPSQL = `
  select sp.attributes[list_position([a.key for a in sp.attributes], 'tensor.op.name')].value.stringValue as operation,
    sp.attributes[list_position([a.key for a in sp.attributes], 'tensor.device.id')].value.stringValue as device,
    (sp.endTimeUnixNano - sp.startTimeUnixNano)::bigint as ns
  from (select unnest(ss.spans) as sp from (
    select unnest(rs.scopeSpans) as ss from (select unnest(resourceSpans) as rs from
  (select from_json(json, '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "UBIGINT",
  "endTimeUnixNano": "UBIGINT", "attributes": [{"key": "VARCHAR", "value": {"stringValue": "VARCHAR"}}]}]}]}]}').resourceSpans
    as resourceSpans
  from read_ndjson_objects('%s', maximum_object_size = 2097152)))))`
