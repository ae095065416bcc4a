package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/optrace/optrace/contrib/clickhouse"
)

func defineSchema(fs *flag.FlagSet) func(context.Context, *call) error {
	var s clickhouse.Schema
	apply := fs.Bool("apply", false, "run the statements")
	fs.StringVar(&s.Cluster, "cluster", "", "`NAME` of the cluster in the configuration of the servers")
	view := fs.String("view", "", "`NAME` of the view to create instead of the tables")
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
