package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/render/csv"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/text"
)

const reportUsage = `usage: optrace report [flags] INPUT...

Report profiles the operations in the inputs: by operation and by device, load
balance, communication, memory and the slowest ones. It starts with the
input, and with all that was lost or could not be read.

An INPUT is a file, a directory or - for standard input. Formats are found by
content, and gzip and zstd are opened transparently. After -- every argument is
an INPUT.

  -json             print the report as JSON, schema optrace.report/v1
  -html FILE        write a page for the browser: timeline, flame graph and the
                    tables, in one file that loads nothing from a network
  -csv              print one table as CSV: the operations, the groups of -by, or
                    the table of one -section: the communicating operations of
                    communication, the hotspots of memory, the longest gaps of
                    idle. With known sampling it has the columns est_count and
                    est_sum_ns
  -by KEY[,KEY]     group by operation, kind, device, rank, stream, shape, step,
                    root, service, trace, path or attr:NAME, an attribute of the
                    operation, or else of its scope or resource, such as
                    attr:region; a NAME with a dot will do, such as hw.model or
                    gen_ai.request.model. With device, the critical path is by
                    device too
  -section S[,S]    sections to show: summary, operations, devices, balance,
                    communication, memory, slowest, idle, launches, critical_path,
                    sequences, steps; all by default. With none but summary, memory and
                    slowest the memory needed does not grow with the input, unless -by
                    has root, which is found by the parents where spans do not state it
  -top N            how many slowest operations, memory hotspots, idle gaps and
                    repeated sequences to list (10),
                    and, where it is given and not 0, how many rows of any table
                    the text shows (30)
  -align-clocks     estimate how far the clocks of ranks are apart from when their
                    collectives end, and compute what depends on times with
                    all of them on one clock; the estimate, its residuals and the
                    times as recorded are shown beside
  -min-comm-ratio X the smallest part of the total at which a communicating
                    operation is listed (0)
  -hotspot-bytes N  the memory above which an operation is a hotspot (1048576)
  -peaks FILE       compare operations with what their devices can do at best: a
                    JSON file of peaks by device, or the name of a device for all:
%s
%s
  -o FILE           write to FILE, which is no INPUT and is replaced once complete
` + displayUsage + memoryHelp + `
Examples:

  optrace report ops.jsonl
  optrace report -by operation,shape -top 3 ops.jsonl
  zcat traces-*.jsonl.gz | optrace report -section summary -
  optrace report -json ops.jsonl | jq '.operations[0]'
  optrace report -csv -section devices ops.jsonl > devices.csv
  optrace report -html report.html ops.jsonl
  optrace report -peaks nvidia-h100-sxm ops.jsonl
  optrace report -align-clocks rank-*.jsonl
`

// reportFlags are the flags of the report command.
type reportFlags struct {
	json, csv bool
	sumsFlags
	section  string
	topSet   bool
	minRatio float64
	align    bool
	format   string
	output   string
	html     string
	memory   *memorySize
	table    csvTable // with csv
	display  displayFlags
}

func reportCommand() command {
	return command{
		name: "report", summary: "profile the operations in the inputs",
		usage: fmt.Sprintf(reportUsage, peaksUsage(), formatUsage()), define: new(reportFlags).define, run: runReport,
	}
}

// define defines the flags.
func (f *reportFlags) define(fs *flag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "")
	fs.BoolVar(&f.csv, "csv", false, "")
	f.sumsFlags.define(fs)
	fs.StringVar(&f.section, "section", "", "")
	fs.Float64Var(&f.minRatio, "min-comm-ratio", 0, "")
	fs.BoolVar(&f.align, "align-clocks", false, "")
	formatFlag(fs, &f.format)
	fs.StringVar(&f.output, "o", "", "")
	fs.StringVar(&f.html, "html", "", "")
	f.display.register(fs)
	f.memory = addMemoryFlag(fs)
}

func runReport(ctx context.Context, s streams, args []string) error {
	var f reportFlags
	fs := newFlags("report")
	f.define(fs)
	inputs, err := parseInputs(fs, args)
	if err != nil {
		return err
	}
	f.topSet = isSet(fs, "top")
	chosen, err := parseSections(f.section)
	if err != nil {
		return err
	}
	opts, err := f.options(chosen)
	if err != nil {
		return err
	}
	if f.csv {
		if f.table, err = chosen.csvTable(len(opts.By) > 0); err != nil {
			return err
		}
	}
	if f.html != "" {
		f.output = f.html
	}
	return produce(ctx, s, f.output, inputs, func(out *output) error {
		src := source{
			inputs: inputs, format: f.format, mapping: mappingFor(opts.By), exclude: out.exclude, memory: *f.memory,
		}
		if !opts.SumsOnly {
			src.limitGarbage()
		}
		in, done := src.open(s)
		r, err := analyze.Run(ctx, in, opts)
		done()
		if err != nil {
			return inputError(err)
		}
		out.verdict = unread(inputs, &r.Input)
		if f.csv && r.LeftOut != "" {
			if chosen.needsStructure() {
				return inputError(fmt.Errorf("-section %s: %s", f.section, r.LeftOut))
			}
			fmt.Fprintf(s.err, "optrace report: %s\n", r.LeftOut)
		}
		if f.html != "" {
			return outputError(html.Write(out, r, html.Options{Title: titleOf(inputs), Version: versionOf(buildInfo())}))
		}
		return outputError(f.write(out, f.display.on(out.screen(s)), r, chosen))
	})
}

// options returns the options of the analyses, or an error if the flags do not
// fit.
func (f *reportFlags) options(chosen selection) (analyze.Options, error) {
	var opts analyze.Options
	switch {
	case f.json && f.csv:
		return opts, usagef("-json and -csv exclude each other")
	case f.csv && f.section == "all":
		return opts, usagef("-csv prints one table: choose one section")
	case f.html != "" && (f.json || f.csv || f.output != ""):
		return opts, usagef("-html excludes -json, -csv and -o")
	case f.html != "" && f.section != "":
		return opts, usagef("-html shows all sections: leave out -section")
	case f.align && !chosen.structural():
		return opts, usagef("-align-clocks is for figures that depend on times: choose other sections, or leave out -section")
	case f.display.check() != nil:
		return opts, f.display.check()
	case !(f.minRatio >= 0 && f.minRatio <= 1):
		return opts, usagef("-min-comm-ratio is not between 0 and 1")
	}
	opts, err := f.sumsFlags.options()
	opts.MinCommunicationRatio, opts.SumsOnly, opts.KeepForest = f.minRatio, !chosen.structural(), f.html != ""
	opts.AlignClocks = f.align
	return opts, err
}

// mappingFor returns the mapping that keeps the attributes to group by.
func mappingFor(keys []key.Key) *attr.Mapping {
	var m attr.Mapping
	for _, k := range keys {
		if k.Attr() != "" {
			m.Keep(k.Attr())
		}
	}
	return &m
}

func (f *reportFlags) write(w *output, d display, r *analyze.Report, chosen selection) error {
	switch {
	case f.json:
		return writeJSON(w, r)
	case f.csv:
		return f.table(w, r, csv.Options{Printable: w.terminal})
	}
	opts := text.Options{Color: d.color, Width: d.width, Rows: tableRows(f.top, f.topSet)}
	if chosen != nil {
		opts.Show = chosen.shows
	}
	return text.Write(w, r, opts)
}

// tableRows returns how many rows of a table -top allows, 0 for the default.
func tableRows(top int, set bool) int {
	if !set {
		return 0
	}
	return top
}

// writeJSON writes r as JSON that can be printed on a terminal.
func writeJSON(w io.Writer, r any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := w.Write(termtext.EscapeJSON(text.Bytes()))
	return err
}

// titleOf names the inputs: the last elements of their paths.
func titleOf(inputs []string) string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		if names[i] = filepath.Base(in); in == ingest.Stdin {
			names[i] = "standard input"
		}
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// buildInfo returns what is known of the build of this program.
func buildInfo() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return info
}
