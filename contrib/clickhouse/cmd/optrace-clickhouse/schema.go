package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/contrib/clickhouse"
)

const schemaUsage = `usage: optrace-clickhouse schema [flags]

Schema prints the statements that create the tables, or runs them with -apply. On
a cluster they are for each of its servers: run schema -apply with the address of
each one.

With -view, it is the statement for a view with the columns of the table over the
spans that the Collector's exporter writes: report -view reads it.
`

func runSchema(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var c connection
	var s clickhouse.Schema
	fs := flag.NewFlagSet("schema", flag.ContinueOnError)
	c.define(fs)
	apply := fs.Bool("apply", false, "run the statements")
	fs.StringVar(&s.Cluster, "cluster", "", "`NAME` of the cluster, as the servers' configuration has it")
	view := fs.String("view", "", "`NAME` of the view to create, in place of the tables")
	traces := fs.String("traces", "otel_traces", "`NAME` of the table of spans under the view")
	rest, err := parse(fs, schemaUsage, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("schema takes no arguments")
	}
	statements := s.Statements()
	if *view != "" {
		statements = []string{clickhouse.ViewStatement(*view, *traces)}
	}
	if !*apply {
		_, err := fmt.Fprintf(stdout, "%s;\n", strings.Join(statements, ";\n\n"))
		return outputError(err)
	}
	db, err := c.open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // every answer was looked at
	for _, statement := range statements {
		if err := db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
