package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const convertUsage = `usage: optrace convert -to FORMAT [-o FILE] [flags] INPUT...

Convert writes the operations of the inputs, together, in another format. An
unknown shape stays unknown in all of them.

%s
  -to FORMAT        one of the formats above
%s
  -o FILE           write to FILE, which is no INPUT and is replaced once complete
  -push URL         with -to otlp-profiles, post them to a receiver of OTLP by HTTP
                    instead, once; a URL without a path gets
                    /v1development/profiles
  -by KEY[,KEY]     with -to profile, the groups of the reports on it, but for root; these
                    have the same -by, or none
  -top N            with -to profile, how many entries reports on it may list (10)
  -hotspot-bytes N  with -to profile, the same as of the reports on it (1048576)
  -peaks FILE       with -to profile, the same as of the reports on it
  -drop-attributes  leave out attributes, events and what else no field of an
                    operation holds; links stay, without theirs
` + memoryHelp + `
Records that cannot be read are left out and reported on standard error.

Examples:

  optrace convert -to entries -o ops.jsonl collector/
  optrace convert -to collapsed ops.jsonl | flamegraph.pl > ops.svg
  optrace convert -to pprof -o ops.pb.gz ops.jsonl && go tool pprof -http : ops.pb.gz
  optrace convert -to otlp-profiles -push http://localhost:4318 ops.jsonl
  optrace convert -to perfetto -o ops.pftrace ops.jsonl
  zcat trace.json.gz | optrace convert -to csv - > ops.csv
  optrace convert -to trace ops.jsonl | optrace report -
  optrace convert -to profile -o rank7.profile rank7/ && optrace report *.profile
`

// converter writes the records of the inputs in one format.
type converter interface {
	// record writes a record, or collects it for end. It must not retain rec.
	record(rec op.Record) error
	// end writes the rest of the output.
	end() error
}

// informed is a converter that tells, in its output, how many records could not be
// read.
type informed interface {
	// leftOut is called before end.
	leftOut(records int64)
}

// target is a format that convert writes.
type target struct {
	name, summary string
	// keeps says, in lines of the help, what of its input the format keeps and what it
	// cannot hold.
	keeps []string
	// attributes is set where the format holds attributes, so that they are read.
	attributes bool
	// binary is set where it is not for a terminal.
	binary bool
	create func(out *output) (converter, error)
}

// targets lists the formats that convert writes.
func targets() []target {
	return []target{
		{"entries", "entries JSON Lines, the exporter's format", []string{
			"keeps everything but schema URLs and the total that a seed trace states:",
			"attributes with their types, of spans, resources, scopes, events and links",
		}, true, false, newEntriesConverter},
		{"trace", "one JSON document as the seed's recorder prints it", []string{
			"keeps steps, names, devices, the host side, shapes, durations, elements,",
			"bytes and metadata; no starts, ids, kinds, element types, streams, ranks and",
			"spans; unknown numbers and dynamic dimensions are written as 0",
		}, false, false, newTraceConverter},
		{"otlp", "OTLP JSON Lines, for the Jaeger UI's upload and OTLP endpoints", []string{
			"keeps operations and spans with all that entries keep, and resources and",
			"scopes as they were; no gaps and batches; operations without ids get some",
			`that optrace takes for none, and a device called "" reads back as none`,
		}, true, false, newOTLPConverter},
		{"jaeger", "JSON as the Jaeger UI downloads and uploads it", []string{
			"keeps operations and spans, their attributes and those of resources, events",
			"and links; times in whole µs, lists as text; no gaps, batches, attributes of",
			`scopes and links, weights of links among them, and no device called ""`,
		}, true, false, newJaegerConverter},
		{"chrome", "a timeline for ui.perfetto.dev and chrome://tracing", []string{
			"keeps operations and spans, times to the ns, in the order of devices, streams",
			"and starts, and the attributes that entries files hold as text; no others, no",
			"events, resources with their hosts, gaps, batches and spans without ids",
		}, false, false, newChromeConverter},
		{"perfetto", "the same in Perfetto's own format, with counters", []string{
			"keeps what chrome keeps; a file named .pftrace opens at ui.perfetto.dev",
		}, false, true, newPerfettoConverter},
		{"csv", "a row per operation", []string{
			"keeps operations, for tables: no spans, links and attributes; it is not read",
		}, false, false, newCSVConverter},
		{"parquet", "a table for DuckDB, pandas, Spark and ClickHouse", []string{
			"keeps what entries keep, attributes as text in attrs and with their types in",
			`extra, but a device called ""; rows do not tell the host that they come from`,
		}, true, true, newParquetConverter},
		{"collapsed", "folded stacks of self time in ns, for flame graphs", []string{
			"keeps sums by stack; it is not read",
		}, false, false, newCollapsedConverter},
		{"collapsed-flat", "folded stacks trace;device;operation in µs, as the seed's", []string{
			"keeps sums by device and operation; it is not read",
		}, false, false, newFlatConverter},
		{"pprof", "a profile for go tool pprof and profile stores", []string{
			"keeps sums by stack, device, kind, shape and request: count, time, self,",
			"bytes and flops; it is not read",
		}, false, true, newProfileConverter(writePprof)},
		{targetOTLPProfiles, "OpenTelemetry profiles in protobuf, with links to requests", []string{
			"keeps what pprof keeps, a profile per value; it is not read",
		}, false, true, newProfileConverter(writeOTLPProfiles)},
		{"otlp-profiles-json", "the same in JSON", []string{
			"keeps what otlp-profiles keeps",
		}, false, false, newProfileConverter(writeOTLPProfilesJSON)},
		{targetProfile, "sums, which report adds up for many ranks or hours", []string{
			"keeps the sums of a report and its lists of entries, in little space: no",
			"operations, and nothing that needs the structure of the run",
		}, false, false, nil},
	}
}

func convertCommand() command {
	var list strings.Builder
	for _, t := range targets() {
		fmt.Fprintf(&list, "  %-18s %s\n", t.name, t.summary)
		for _, line := range t.keeps {
			fmt.Fprintf(&list, "    %s\n", line)
		}
	}
	return command{
		name: "convert", summary: "write the operations in another format",
		usage: fmt.Sprintf(convertUsage, list.String(), formatUsage()), define: new(convertFlags).define, run: runConvert,
	}
}

// convertFlags are the flags of the convert command.
type convertFlags struct {
	to, from, output, push string
	drop                   bool
	memory                 *memorySize
	sums                   sumsFlags
}

// define defines the flags.
func (f *convertFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.to, "to", "", "")
	fs.StringVar(&f.output, "o", "", "")
	fs.StringVar(&f.push, "push", "", "")
	fs.BoolVar(&f.drop, "drop-attributes", false, "")
	formatFlag(fs, &f.from)
	f.memory = addMemoryFlag(fs)
	f.sums.define(fs)
}

func runConvert(ctx context.Context, s streams, args []string) error {
	var f convertFlags
	fs := newFlags("convert")
	f.define(fs)
	inputs, err := parseInputs(fs, args)
	if err != nil {
		return err
	}
	to, err := findTarget(f.to)
	if err != nil {
		return err
	}
	src := source{inputs: inputs, format: f.from, memory: *f.memory}
	if to.name == targetProfile {
		return runConvertSums(ctx, s, fs, &f, src)
	}
	for _, name := range sumsFlagNames {
		if isSet(fs, name) {
			return usagef("-%s needs -to %s", name, targetProfile)
		}
	}
	if isSet(fs, "push") {
		if to.name != targetOTLPProfiles || f.output != "" {
			return usagef("-push needs -to %s, and no -o", targetOTLPProfiles)
		}
		return pushConverted(ctx, s, f.push, func(out *output) error { return convert(s, src, to, f.drop, out) })
	}
	return produce(ctx, s, f.output, inputs, func(out *output) error {
		src.exclude = out.exclude
		return convert(s, src, to, f.drop, out)
	})
}

// convert writes the records of src to out.
func convert(s streams, src source, to target, drop bool, out *output) error {
	if to.binary && out.terminal {
		return usagef("%s is binary and not written to a terminal: give -o FILE, or redirect the output with > FILE", to.name)
	}
	c, err := to.create(out)
	if err != nil {
		return outputError(err)
	}
	faults := faultLog{s: s}
	found := analyze.Envelope{SkippedBy: make(map[string]int64)}
	if to.attributes && !drop {
		src.mapping = new(attr.Mapping)
		src.mapping.KeepAll()
	}
	holds, _ := c.(holder)
	err = src.each(s, holds, func(rec op.Record, err error) error {
		if err != nil {
			faults.add(err)
			return nil
		}
		count(&found, rec)
		if drop {
			dropAttributes(rec)
		}
		return outputError(c.record(rec))
	})
	if err != nil {
		return err
	}
	faults.end()
	found.Malformed = faults.n
	out.verdict = unread(src.inputs, &found)
	if i, ok := c.(informed); ok {
		i.leftOut(faults.n)
	}
	return outputError(c.end())
}

// count counts what says whether an input was read.
func count(in *analyze.Envelope, rec op.Record) {
	switch s := rec.Skipped; {
	case rec.Entry != nil, rec.Span != nil, s.N > 0 && s.Reason.IsSpan():
		in.Spans++
	case s.N > 0:
		in.SkippedBy[string(s.Reason)] += s.N
		if s.Signal != "" && !slices.Contains(in.Signals, s.Signal) {
			in.Signals = append(in.Signals, s.Signal)
		}
	}
}

// dropAttributes removes from a record what the flag of that name leaves out.
func dropAttributes(rec op.Record) {
	var links []op.Link
	switch {
	case rec.Entry != nil:
		rec.Entry.Attrs, rec.Entry.Extra, links = nil, nil, rec.Entry.Links
	case rec.Span != nil:
		rec.Span.Attrs, rec.Span.Extra, links = nil, nil, rec.Span.Links
	case rec.Resource != nil:
		rec.Resource.Attrs = nil
	}
	for i := range links {
		links[i].Extra = nil
	}
}

// otlpJSON is what inputs in the format of -to otlp are called.
const otlpJSON = "otlp-json"

// findTarget returns the format with a name.
func findTarget(name string) (target, error) {
	var names []string
	for _, t := range targets() {
		if t.name == name || t.name == "otlp" && name == otlpJSON {
			return t, nil
		}
		names = append(names, t.name)
	}
	switch name {
	case "":
		return target{}, usagef("no -to; formats are %s", strings.Join(names, ", "))
	case "arrow", "arrow-lz4", "arrow-zstd": // which earlier versions wrote
		return target{}, usagef("the format %s was withdrawn: parquet is for tables, entries compressed with zstd for recordings", name)
	}
	return target{}, usagef("unknown format %q; formats are %s", name, strings.Join(names, ", "))
}

// faultLog reports records that could not be read on standard error, the first
// ones in full.
type faultLog struct {
	s streams
	n int64
}

const maxFaultsShown = 10

func (l *faultLog) add(err error) {
	records := int64(1)
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		records = syntax.Count()
		if l.n < maxFaultsShown {
			fmt.Fprintf(l.s.err, "optrace convert: left out: %q\n", syntax.Error())
		}
	}
	l.n += records
}

func (l *faultLog) end() {
	if l.n > maxFaultsShown {
		fmt.Fprintf(l.s.err, "optrace convert: left out %d records in all\n", l.n)
	}
}
