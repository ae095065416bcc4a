package main

import (
	"context"
	"flag"
	"fmt"
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

func defineSchema(fs *flag.FlagSet) func(context.Context, *call) error {
	var s clickhouse.Schema
	apply := fs.Bool("apply", false, "run the statements")
	fs.StringVar(&s.Cluster, "cluster", "", "`NAME` of the cluster, as the servers' configuration has it")
	view := fs.String("view", "", "`NAME` of the view to create, in place of the tables")
	traces := fs.String("traces", "otel_traces", "`NAME` of the table of spans under the view")
	return func(ctx context.Context, c *call) error {
		if len(c.args) > 0 {
			return usagef("schema takes no arguments")
		}
		statements := s.Statements()
		if *view != "" {
			statements = []string{clickhouse.ViewStatement(*view, *traces)}
		}
		if !*apply {
			_, err := fmt.Fprintf(c.stdout, "%s;\n", strings.Join(statements, ";\n\n"))
			return outputError(err)
		}
		for _, statement := range statements {
			if err := c.db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
}
