// Package convert writes records in the formats of optrace convert, listed by Targets. The packages below render and op
// write the formats; packages input and output handle files.
package convert

import (
	"io"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/chrome"
	"github.com/optrace/optrace/render/jaeger"
	"github.com/optrace/optrace/render/otlpprofiles"
	"github.com/optrace/optrace/render/perfetto"
	"github.com/optrace/optrace/render/pprof"
)

// Profile is the format of partial results. It has flags of its own, and no Target writes it.
const Profile = "profile"

// Target is a format that convert writes.
type Target struct {
	Name, Summary string
	// attributes is set if the format holds attributes, so they must be read, and binary if it is unfit for a terminal.
	attributes, binary bool
	create             func(options) *converter
}

// Targets lists the formats.
func Targets() []Target {
	return []Target{
		{Name: "entries", Summary: "entries JSON Lines, the exporter's format", attributes: true, create: newEntries},
		{Name: "trace", Summary: "one JSON document as the seed's recorder prints it", create: newTrace},
		{Name: "otlp", Summary: "OTLP JSON Lines, for the Jaeger UI's upload and OTLP endpoints", attributes: true,
			create: newOTLP},
		{Name: "jaeger", Summary: "JSON as the Jaeger UI downloads and uploads it", attributes: true,
			create: newTimeline[jaeger.Traces]},
		{Name: "chrome", Summary: "a timeline for ui.perfetto.dev and chrome://tracing",
			create: newTimeline[chrome.Timeline]},
		{Name: "perfetto", Summary: "the same in Perfetto's own format, with counters", binary: true,
			create: newTimeline[perfetto.Timeline]},
		{Name: "csv", Summary: "a row per operation", create: newCSV},
		{Name: "parquet", Summary: "a table for DuckDB, pandas, Spark and ClickHouse", attributes: true, binary: true,
			create: newParquet},
		{Name: "collapsed", Summary: "folded stacks of self time in ns, for flame graphs", create: newCollapsed},
		{Name: "collapsed-flat", Summary: "folded stacks trace;device;operation in µs, as the seed's",
			create: newFlat},
		{Name: "pprof", Summary: "a profile for go tool pprof and profile stores", binary: true, create: newProfile(
			func(w io.Writer, t *stacks.Table, opts otlpprofiles.Options) error {
				return pprof.Write(w, t, opts.Options)
			})},
		{Name: "otlp-profiles", Summary: "OpenTelemetry profiles in protobuf, with links to requests", binary: true,
			create: newProfile(otlpprofiles.Write)},
		{Name: "otlp-profiles-json", Summary: "the same in JSON", create: newProfile(otlpprofiles.WriteJSON)},
		{Name: Profile, Summary: "sums; report adds them up over many ranks or hours"},
	}
}
