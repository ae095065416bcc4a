package process

import (
	"fmt"
	"strings"
)

// summary is the statement that answers: count, sum, minimum, maximum and
// percentiles per operation and per device, in one pass over the rows that source,
// a statement with a place for the path, has of a file: columns operation, device and ns.
func summary(source, path string) string {
	return fmt.Sprintf(`
with t as (%s)
select case when grouping(operation) = 0 then 'operation ' || operation else 'device ' || device end as name,
  count(*)::double as count, sum(ns)::double as sum, min(ns)::double as min, max(ns)::double as max,
  quantile_cont(ns, [0.5, 0.95, 0.99]) as percentiles
from t where operation is not null
group by grouping sets ((operation), (device))`, fmt.Sprintf(source, strings.ReplaceAll(path, "'", "''")))
}

// entriesSQL reads entries JSONL: the three columns that are needed, with their
// types, so that DuckDB neither guesses nor reads more.
const entriesSQL = `select operation, device_id as device, duration_ns as ns from read_json('%s',
  format = 'newline_delimited', columns = {operation: 'VARCHAR', device_id: 'VARCHAR', duration_ns: 'BIGINT'})`

// parquetSQL reads what optrace convert writes of entries, which are one kind of
// its rows.
const parquetSQL = "select operation, device_id as device, duration_ns as ns from read_parquet('%s') where record = 'entry'"

// tunedOTLPSQL is the fastest statement found for OTLP JSON Lines: lines as JSON
// values, from which from_json takes the fields that are needed, with a bound on
// their size that lets both threads work.
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
