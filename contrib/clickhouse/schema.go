// Package clickhouse keeps operations in ClickHouse and lets it compute their report, for recordings too
// large for one machine.
//
// A [Schema] describes the tables: records, distributed over the shards by trace, and loaded inputs.
// [Load] reads files of all formats of package ingest and inserts each record once, even after interrupted
// loads. A [Source] computes reports: the shards compute partial sums, the server adds them up, and
// package analyze reads the result. The figures equal those of optrace report.
//
// The statements run on ClickHouse 18.16 and on current versions. The package connects through a [DB];
// [Open] returns one for the native protocol.
package clickhouse

import (
	"context"
	"fmt"
	"strings"
)

// Schema describes the tables of operations in a database.
type Schema struct {
	// Cluster is the name of the cluster in the configuration of the servers; "" for a single server.
	Cluster string
}

// The tables. On a cluster each shard has a local table with records, and these names are distributed tables.
const (
	tableOps    = "optrace_ops"
	tableInputs = "optrace_inputs"
	localSuffix = "_local"
)

// inputColumns are the columns of the table of completely loaded inputs.
var inputColumns = []column{
	{name: "input", typ: "UInt64"}, {name: "digest", typ: "String"}, {name: "path", typ: "String"},
	{name: "loaded_unix_ns", typ: "Int64"}, {name: "rows", typ: "UInt64"}, {name: "stated_more_ns", typ: "Int64"},
	{name: "states_total", typ: "UInt8"}, {name: "envelope", typ: "String"},
}

func namesOf(list []column) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

// Statements returns the statements that create missing tables, for each server of the cluster.
func (s Schema) Statements() []string {
	return append(
		s.table(tableOps, columns(), "(trace_id, input, row)", "cityHash64(trace_id)"),
		s.table(tableInputs, inputColumns, "(input)", "input")...,
	)
}

// table returns the statements for a table and, on a cluster, for the distributed table.
func (s Schema) table(name string, columns []column, order, shardBy string) []string {
	var list []string
	for _, c := range columns {
		list = append(list, "\n  "+c.name+" "+c.typ)
	}
	create := func(name, engine string) string {
		return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s\n) ENGINE = %s", name, strings.Join(list, ","), engine)
	}
	tree := "MergeTree() ORDER BY " + order
	if s.Cluster == "" {
		return []string{create(name, tree)}
	}
	distributed := fmt.Sprintf("Distributed(%s, currentDatabase(), %s, %s)", quoteName(s.Cluster), name+localSuffix,
		shardBy)
	return []string{create(name+localSuffix, tree), create(name, distributed)}
}

// Apply creates the tables on a server. On a cluster call it for each server.
func (s Schema) Apply(ctx context.Context, db DB) error {
	for _, statement := range s.Statements() {
		if err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("creating tables: %w", err)
		}
	}
	return nil
}

// names joins names without quotes.
func names(list []string) string { return strings.Join(list, ", ") }

func quoteName(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

// quoted joins quoted texts.
func quoted(list []string) string {
	var all []string
	for _, text := range list {
		all = append(all, quote(text))
	}
	return names(all)
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
