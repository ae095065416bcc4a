package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/read/captures"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/csv"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/markdown"
	"github.com/optrace/optrace/render/text"
)

type reportFlags struct {
	json, csv, markdown, align, steady, open bool
	section, html                            string
	where                                    key.Filter
	captures                                 []string
	minRatio                                 float64
	flags.Sums
	flags.InOut
	display streams.DisplayFlags

	line  *flags.Line
	table string // with csv
}

func (f *reportFlags) define(fs *flag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "")
	fs.BoolVar(&f.csv, "csv", false, "")
	fs.BoolVar(&f.markdown, "markdown", false, "")
	f.Sums.Define(fs)
	flags.Where(fs, &f.where)
	fs.StringVar(&f.section, "section", "", "")
	fs.Float64Var(&f.minRatio, "min-comm-ratio", 0, "")
	fs.BoolVar(&f.steady, "steady", false, "")
	fs.BoolVar(&f.align, "align-clocks", false, "")
	fs.Func("capture", "", func(path string) error {
		f.captures = append(f.captures, path)
		return nil
	})
	fs.StringVar(&f.html, "html", "", "")
	fs.BoolVar(&f.open, "open", false, "")
	f.display.Register(fs)
	f.InOut.Define(fs)
}

func (f *reportFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	inputs := line.Inputs
	f.line = line
	chosen, err := parseSections(f.section, sections)
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
		f.Output = f.html
	}
	return output.Produce(ctx, s, f.Output, inputs, func(out *output.File) error {
		src := input.Source{
			Inputs: inputs, InOut: f.InOut, Exclude: out.Exclude,
		}
		if len(f.captures) > 0 {
			if err := f.amend(ctx, s, src, &opts); err != nil {
				return err
			}
		}
		in, done := src.Open(s)
		r, err := analyze.Run(ctx, in, opts)
		if f.html == "" || err != nil {
			done()
		}
		if err != nil {
			return exit.Input(err)
		}
		out.Verdict = input.Unread(inputs, &r.Input)
		s.Show(r)
		if len(f.where.Keys()) > 0 && r.Input.Entries == 0 {
			if missed := missed(ctx, s, src, f.where); missed != "" {
				fmt.Fprintf(s.Err, "optrace report: %s\n", missed)
			}
		}
		if f.csv && r.LeftOut != "" {
			if chosen.needsStructure() {
				return exit.Input(fmt.Errorf("-section %s: %s", f.section, r.LeftOut))
			}
			fmt.Fprintf(s.Err, "optrace report: %s\n", r.LeftOut)
		}
		if f.html != "" {
			out.Done = func() { showPage(ctx, s, f.html, f.open) }
			err := html.Write(out, r, html.Options{Title: input.Title(inputs), Version: version()})
			done()
			return exit.Output(err)
		}
		return exit.Output(f.write(out, f.display.On(out.Screen(s)), r, chosen))
	})
}

// amend reads the captures, and the inputs for the nodes of their graphs.
func (f *reportFlags) amend(ctx context.Context, s streams.Streams, src input.Source, opts *analyze.Options) error {
	x := captures.New()
	if slices.Contains(src.Inputs, ingest.Stdin) {
		return exit.Usagef("-capture reads the input twice: give a file in place of standard input")
	}
	for i, inputs := range [][]string{f.captures, src.Inputs} {
		from := input.Source{Inputs: inputs, InOut: src.InOut, Exclude: src.Exclude}
		in, done := from.Open(s)
		held := budget.Account{Hold: in.Hold}
		var full error
		_, err := analyze.Read(ctx, in, func(rec op.Record) {
			if i == 0 {
				x.Capture(rec)
			} else if rec.Entry != nil {
				x.Serve(rec.Entry)
			}
			full = cmp.Or(full, held.Set(x.Bytes, 1<<20))
		})
		done()
		if err = cmp.Or(err, full); err != nil {
			return exit.Input(err)
		}
	}
	x.Match()
	fmt.Fprintf(s.Err, "optrace report: the captures have the operators of %d of %s of graphs\n", x.Known,
		units.Plural(x.Nodes, "node"))
	opts.Amend = x.Apply
	return nil
}

func showPage(ctx context.Context, s streams.Streams, path string, open bool) {
	if path == ingest.Stdin {
		return
	}
	fmt.Fprintf(s.Err, "wrote %s\n", termtext.Escape(path))
	if !open {
		return
	}
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = openBrowser(ctx, absolute)
	}
	if err != nil {
		fmt.Fprintf(s.Err, "opening %s: %v\n", termtext.Escape(path), err)
	}
}

// openBrowser shows an address in the user's browser, without waiting for it.
func openBrowser(ctx context.Context, address string) error {
	name := "xdg-open"
	args := []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name = "rundll32"
		args = []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ignore its output
	return nil
}

func (f *reportFlags) options(chosen selection) (analyze.Options, error) {
	var opts analyze.Options
	switch {
	case f.json && f.csv || f.markdown && (f.json || f.csv):
		return opts, exit.Usagef("-json, -csv and -markdown exclude each other")
	case f.markdown && f.section != "":
		return opts, exit.Usagef("-markdown prints the first screen: omit -section")
	case f.csv && f.section == "all":
		return opts, exit.Usagef("-csv prints one table: choose one section")
	case f.html != "" && (f.json || f.csv || f.markdown || f.Output != ""):
		return opts, exit.Usagef("-html excludes -json, -csv, -markdown and -o")
	case f.open && (f.html == "" || f.html == ingest.Stdin):
		return opts, exit.Usagef("-open opens the page of -html FILE: give -html too")
	case f.html != "" && f.section != "":
		return opts, exit.Usagef("-html shows all sections: omit -section")
	case f.align && !chosen.structural():
		return opts, exit.Usagef("-align-clocks needs sections with times: choose others, or omit -section")
	case !(f.minRatio >= 0 && f.minRatio <= 1):
		return opts, exit.Usagef("-min-comm-ratio is not between 0 and 1")
	}
	opts, err := f.Sums.Options()
	opts.MinCommunicationRatio = f.minRatio
	opts.SumsOnly = !chosen.structural()
	opts.KeepForest = f.html != ""
	opts.AlignClocks = f.align
	opts.Steady = f.steady
	opts.Sections = f.computed(chosen)
	if len(f.where.Keys()) > 0 {
		opts.Filter = f.where.Match
		opts.Where = f.where
	}
	return opts, err
}

// ofFlag are the sections that a flag adds to the first screen.
var ofFlag = map[string]string{"min-comm-ratio": "communication", "hotspot-bytes": "memory", "peaks": "roofline"}

// computed returns the sections to compute, nil for all. Without a choice these are the sections of the first screen.
func (f *reportFlags) computed(chosen selection) []string {
	switch {
	case chosen != nil || f.json || f.html != "" || f.section != "":
		return chosen
	case f.csv:
		return []string{"operations"}
	}
	sections := []string{"overview"}
	for flag, section := range ofFlag {
		if f.line.IsSet(flag) {
			sections = append(sections, section)
		}
	}
	return sections
}

func (f *reportFlags) write(w *output.File, opts text.Options, r *analyze.Report, chosen selection) error {
	switch {
	case f.json:
		return output.JSON(w, r)
	case f.csv:
		return csv.Write(w, r, f.table, csv.Options{Printable: w.Terminal})
	case f.markdown:
		return markdown.WriteReport(w, r, markdown.Options{Rows: f.line.Rows()})
	}
	opts.Rows = f.line.Rows()
	if chosen != nil {
		opts.Show = chosen.shows
	}
	if f.section == "" {
		opts.Show = func(section string) bool {
			for flag, shown := range ofFlag {
				if section == shown && f.line.IsSet(flag) {
					return true
				}
			}
			return false
		}
		return text.WriteOverview(w, r, opts)
	}
	return text.Write(w, r, opts)
}

// maxListed bounds the listed values of a key, and maxListedWidth the width of each.
const (
	maxListed      = 8
	maxListedWidth = 80
)

// missed reads inputs again after a filter passed no operation. It names missing values and lists existing ones. It
// returns "" if all values exist or an input is not a file.
func missed(ctx context.Context, s streams.Streams, src input.Source, where key.Filter) string {
	for _, path := range src.Inputs {
		if info, err := s.Stat(path); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return ""
		}
	}
	in, done := src.Open(s)
	defer done()
	r, err := analyze.Run(ctx, in, analyze.Options{By: where.Keys(), SumsOnly: true})
	if err != nil {
		return ""
	}
	var parts []string
	for i, value := range where.Values() {
		seen := make(map[string]bool)
		for _, g := range r.Groups {
			if !g.Key.Other {
				seen[g.Key.Values[i].String()] = true
			}
		}
		if len(seen) == 0 || seen[value] {
			continue
		}
		values := slices.Sorted(maps.Keys(seen))
		more := ""
		for i, v := range values {
			values[i] = termtext.Shorten(v, maxListedWidth)
		}
		if len(values) > maxListed {
			more = ", …"
		}
		parts = append(parts, fmt.Sprintf("no operation has %s=%s%s; there are %s%s", where.Keys()[i], value,
			exit.Guess(value, values), strings.Join(values[:min(len(values), maxListed)], ", "), more))
	}
	return termtext.Escape(strings.Join(parts, "; "))
}
