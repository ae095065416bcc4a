package main

import (
	"context"
	"flag"
	"strings"

	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

const fetchUsage = `usage: optrace-clickhouse fetch [flags]

Fetch prints the operations and spans of traces as entries JSON Lines:

  optrace-clickhouse fetch -slowest-traces 5 | optrace convert -to collapsed -
`

type traceFlags struct {
	traces clickhouse.Traces
	ids    string
}

func (f *traceFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.ids, "trace", "", "traces of these `IDS`, separated by commas")
	fs.IntVar(&f.traces.Slowest, "slowest-traces", 0, "the `N` longest traces")
	fs.Int64Var(&f.traces.MaxRecords, "max-records", clickhouse.DefaultMaxRecords,
		"fail if the traces have more than `N` records together")
}

func (f *traceFlags) given() bool { return f.ids != "" || f.traces.Slowest > 0 }

// check completes the selection. It returns an error for flags that exclude each other.
func (f *traceFlags) check() error {
	if f.ids != "" && f.traces.Slowest > 0 {
		return usagef("-trace and -slowest-traces exclude each other")
	}
	for text := range strings.SplitSeq(f.ids, ",") {
		var id op.TraceID
		if f.ids == "" {
			break
		}
		if err := id.UnmarshalText([]byte(text)); err != nil {
			return usagef("-trace: %w", err)
		}
		f.traces.IDs = append(f.traces.IDs, id)
	}
	return nil
}

func defineFetch(fs *flag.FlagSet) func(context.Context, *call) error {
	var chosen traceFlags
	var src clickhouse.Source
	chosen.define(fs)
	fs.StringVar(&src.View, "view", "", "`NAME` of a view with the columns of the table")
	return func(ctx context.Context, c *call) error {
		if err := chosen.check(); err != nil {
			return err
		}
		if len(c.args) > 0 || !chosen.given() {
			return usagef("fetch takes traces: -trace or -slowest-traces")
		}
		src.DB = c.db
		w := entries.NewWriter(c.stdout, nil)
		for rec, err := range src.Records(ctx, chosen.traces) {
			switch {
			case err != nil:
				return err
			case rec.Entry != nil:
				err = w.Entry(rec.Entry)
			case rec.Span != nil:
				err = w.Span(rec.Span)
			case rec.Resource != nil:
				err = w.Resource(rec.Resource)
			}
			if err != nil {
				return outputError(err)
			}
		}
		return outputError(w.Flush())
	}
}
