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
	// Keeps says, in lines of the help, what the format keeps of its input and what it cannot hold.
	Keeps []string
	// attributes is set if the format holds attributes, so they must be read, and binary if it is unfit for a terminal.
	attributes, binary bool
	create             func(options) *converter
}

// Targets lists the formats.
func Targets() []Target {
	return []Target{
		{Name: "entries", Summary: "entries JSON Lines, the exporter's format", Keeps: []string{
			"keeps everything except schema URLs and the stated total of a seed trace:",
			"typed attributes of spans, resources, scopes, events and links",
		}, attributes: true, create: newEntries},
		{Name: "trace", Summary: "one JSON document as the seed's recorder prints it", Keeps: []string{
			"keeps steps, names, devices, the host side, shapes, durations, elements,",
			"bytes and metadata; no starts, ids, kinds, element types, streams, ranks and",
			"spans; unknown numbers and dynamic dimensions are written as 0",
		}, create: newTrace},
		{Name: "otlp", Summary: "OTLP JSON Lines, for the Jaeger UI's upload and OTLP endpoints", Keeps: []string{
			"keeps operations and spans like entries, with their resources and scopes;",
			"no gaps and batches; operations without ids get placeholders known to",
			`optrace; a device called "" reads back as no device`,
		}, attributes: true, create: newOTLP},
		{Name: "jaeger", Summary: "JSON as the Jaeger UI downloads and uploads it", Keeps: []string{
			"keeps operations and spans with attributes, also of resources and events, and",
			"links; times in whole µs, lists as text; no gaps, batches, attributes of",
			`scopes and links (such as weights), and no device called ""`,
		}, attributes: true, create: newTimeline[jaeger.Traces]},
		{Name: "chrome", Summary: "a timeline for ui.perfetto.dev and chrome://tracing", Keeps: []string{
			"keeps operations and spans, times to the ns, ordered by device, stream and",
			"start, and attributes of entries files as text; no other attributes, events,",
			"resources with their hosts, gaps, batches and spans without ids",
		}, create: newTimeline[chrome.Timeline]},
		{Name: "perfetto", Summary: "the same in Perfetto's own format, with counters", Keeps: []string{
			"keeps the data of chrome; a file named .pftrace opens at ui.perfetto.dev",
		}, binary: true, create: newTimeline[perfetto.Timeline]},
		{Name: "csv", Summary: "a row per operation", Keeps: []string{
			"keeps operations, for tables: no spans, links and attributes; not an input",
		}, create: newCSV},
		{Name: "parquet", Summary: "a table for DuckDB, pandas, Spark and ClickHouse", Keeps: []string{
			"keeps the data of entries, attributes as text in attrs and typed in extra,",
			`but not a device called ""; rows have no host`,
		}, attributes: true, binary: true, create: newParquet},
		{Name: "collapsed", Summary: "folded stacks of self time in ns, for flame graphs", Keeps: []string{
			"keeps sums by stack; not an input",
		}, create: newCollapsed},
		{Name: "collapsed-flat", Summary: "folded stacks trace;device;operation in µs, as the seed's", Keeps: []string{
			"keeps sums by device and operation; not an input",
		}, create: newFlat},
		{Name: "pprof", Summary: "a profile for go tool pprof and profile stores", Keeps: []string{
			"keeps sums by stack, device, kind, shape and request: count, time, self,",
			"bytes and flops; not an input",
		}, binary: true, create: newProfile(func(w io.Writer, t *stacks.Table, opts otlpprofiles.Options) error {
			return pprof.Write(w, t, opts.Options)
		})},
		{Name: "otlp-profiles", Summary: "OpenTelemetry profiles in protobuf, with links to requests", Keeps: []string{
			"keeps the sums of pprof, a profile per value; not an input",
		}, binary: true, create: newProfile(otlpprofiles.Write)},
		{Name: "otlp-profiles-json", Summary: "the same in JSON", Keeps: []string{
			"keeps the sums of otlp-profiles",
		}, create: newProfile(otlpprofiles.WriteJSON)},
		{Name: Profile, Summary: "sums; report adds them up over many ranks or hours", Keeps: []string{
			"keeps the sums of a report and its lists of entries, in little space: no",
			"operations, and no figures that need the structure of the run",
		}},
	}
}
