package main

import (
	"context"
	"encoding/json"
	"flag"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/render/text"
)

type reportFlags struct {
	source          clickhouse.Source
	options         analyze.Options
	by              string
	json, asProfile bool
}

func (f *reportFlags) define(fs *flag.FlagSet) {
	o := &f.options
	fs.BoolVar(&f.json, "json", false, "print JSON, schema "+analyze.Schema)
	fs.BoolVar(&f.asProfile, "profile", false,
		"print sums like optrace convert -to profile, for optrace report")
	fs.StringVar(&f.by, "by", "",
		"group by `KEYS`: operation, kind, device, rank, stream, shape, step, service, trace, path or attr:NAME")
	fs.IntVar(&o.Top, "top", profile.DefaultTop, "list `N` slowest operations and memory hotspots")
	fs.Int64Var(&o.HotspotBytes, "hotspot-bytes", profile.DefaultHotspotBytes,
		"operations with more memory than `BYTES` are hotspots")
	fs.Float64Var(&o.MinCommunicationRatio, "min-comm-ratio", 0,
		"list communicating operations with at least this `PART` of the total")
	fs.BoolVar(&o.RecordedFLOPs, "recorded-flops", false, "ignore derived FLOPs")
	fs.StringVar(&f.source.View, "view", "", "`NAME` of a view with the columns of the table")
}

// check completes the options. It returns an error for flags that exclude each other.
func (f *reportFlags) check() (err error) {
	o := &f.options
	switch {
	case f.json && f.asProfile:
		return usagef("-json and -profile exclude each other")
	case !(o.MinCommunicationRatio >= 0 && o.MinCommunicationRatio <= 1):
		return usagef("-min-comm-ratio is not between 0 and 1")
	}
	if o.By, err = key.Parse(f.by); err != nil {
		return usagef("%w", err)
	}
	if o.Top == 0 { // the option 0 means the default
		o.Top = -1
	}
	if o.HotspotBytes == 0 {
		o.HotspotBytes = -1
	}
	return nil
}

func defineReport(fs *flag.FlagSet) func(context.Context, *call) error {
	var f reportFlags
	f.define(fs)
	return func(ctx context.Context, c *call) error {
		if len(c.args) > 0 {
			return usagef("report takes no inputs: load them")
		}
		if err := f.check(); err != nil {
			return err
		}
		f.source.DB = c.db
		if f.asProfile {
			profile, err := f.source.Profile(ctx, f.options)
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(profile)
			return outputError(err)
		}
		r, err := f.source.Report(ctx, f.options)
		if err != nil {
			return err
		}
		if !f.json {
			return outputError(text.Write(c.stdout, r, text.Options{}))
		}
		enc := json.NewEncoder(c.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return outputError(enc.Encode(r))
	}
}
