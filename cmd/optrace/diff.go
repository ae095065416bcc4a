package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/markdown"
	"github.com/optrace/optrace/render/text"
)

type diffFlags struct {
	by, html                 string
	failAbove, alpha, within float64
	steady, json, markdown   bool
	top                      int
	display                  streams.DisplayFlags
	flags.InOut

	keys            []key.Key
	gate            bool
	base, head, all []string
}

func (f *diffFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	if err := f.check(line); err != nil {
		return err
	}
	return output.Produce(ctx, s, cmp.Or(f.html, f.Output), f.all, func(out *output.File) error {
		r, head, err := f.report(ctx, s, out)
		if err != nil {
			return err
		}
		if f.gate && out.Verdict == nil {
			out.Verdict = f.failure(r)
		}
		if f.html != "" {
			out.Done = func() { showPage(ctx, s, f.html, false) }
			return exit.Output(html.Write(out, head, html.Options{
				Title: input.Title(f.head[:1]) + " against " + input.Title(f.base), Version: version(), Diff: r,
			}))
		}
		s.Show(r)
		return exit.Output(f.write(out, f.display.On(out.Screen(s)), r))
	})
}

func (f *diffFlags) failure(r *diff.Report) error {
	const nothing = "the %s has no operations to compare"
	switch what, by := r.Slowdown(); {
	case r.Base.Entries == 0:
		return exit.Gatef(nothing, "base")
	case r.Head.Entries == 0:
		return exit.Gatef(nothing, "head")
	case 100*by > f.failAbove:
		return exit.Gatef("%s is slower by %.1f %%, more than %g %%", what, 100*by, f.failAbove)
	}
	return nil
}

func (f *diffFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.by, "by", "", "")
	fs.Float64Var(&f.failAbove, "fail-above", 0, "")
	fs.BoolVar(&f.steady, "steady", false, "")
	fs.Float64Var(&f.alpha, "alpha", diff.DefaultAlpha, "")
	fs.Float64Var(&f.within, "within", 100*diff.DefaultBound, "")
	fs.BoolVar(&f.json, "json", false, "")
	fs.BoolVar(&f.markdown, "markdown", false, "")
	fs.StringVar(&f.html, "html", "", "")
	fs.IntVar(&f.top, "top", 0, "")
	f.display.Register(fs)
	f.InOut.Define(fs)
}

// check splits the inputs into both sides and returns an error if flags and inputs do not fit.
func (f *diffFlags) check(line *flags.Line) (err error) {
	before := line.Before
	switch {
	case before < 0 && len(line.Inputs) == 2:
		before = 1
	case before < 0:
		return exit.Usagef("give one base and one head, or put -- between several of each")
	case before == 0 || before == len(line.Inputs):
		return exit.Usagef("both sides of -- must have an input")
	}
	f.base = line.Inputs[:before]
	f.head = line.Inputs[before:]
	f.all = line.Inputs
	f.gate = line.IsSet("fail-above")
	if f.keys, err = flags.Keys(f.by); err != nil {
		return err
	}
	switch {
	case slices.Contains(f.all[slices.Index(f.all, ingest.Stdin)+1:], ingest.Stdin):
		return exit.Usagef("standard input is given twice")
	case f.json && f.markdown:
		return exit.Usagef("-json and -markdown exclude each other")
	case f.html != "" && (f.json || f.markdown || f.Output != ""):
		return exit.Usagef("-html excludes -json, -markdown and -o")
	case !(f.alpha > 0 && f.alpha < 1):
		return exit.Usagef("-alpha is not between 0 and 1")
	case !(f.within > 0):
		return exit.Usagef("-within is not above 0")
	case !(f.failAbove >= 0):
		return exit.Usagef("-fail-above is negative")
	case f.top < 0:
		return exit.Usagef("-top is negative")
	}
	return nil
}

// report reads all runs in sequence and compares them. It also returns the report on the first run of the head, if it
// is needed for a page.
func (f *diffFlags) report(ctx context.Context, s streams.Streams, out *output.File,
) (*diff.Report, *analyze.Report, error) {
	single := len(f.base) == 1 && len(f.head) == 1
	var runs []*diff.Run
	var head *analyze.Report
	for i, in := range f.all {
		r, err := f.read(ctx, s, in, out)
		if err != nil {
			return nil, nil, err
		}
		out.Verdict = cmp.Or(out.Verdict, input.Unread([]string{in}, &r.Input))
		run, err := diff.NewRun(in, r, f.keys, single)
		if err != nil {
			return nil, nil, exit.Input(err)
		}
		runs = append(runs, run)
		if i == len(f.base) && f.html != "" {
			if r.Forest == nil {
				return nil, nil, exit.Input(fmt.Errorf("%s is a saved report: a page needs a recording", in))
			}
			head = r
		}
	}
	r, err := diff.Compare(runs[:len(f.base)], runs[len(f.base):], diff.Options{Alpha: f.alpha, Bound: f.within / 100})
	if err != nil {
		return nil, nil, exit.Input(err)
	}
	return r, head, nil
}

func (f *diffFlags) read(ctx context.Context, s streams.Streams, in string, out *output.File) (*analyze.Report, error) {
	if f.Format == "" {
		r, err := readSavedReport(s, in, int64(f.Memory))
		if err != nil {
			return nil, exit.Input(fmt.Errorf("%s: %w", in, err))
		}
		if r != nil && f.steady && r.Steady.Left(r.Steps) > 0 {
			return nil, exit.Input(fmt.Errorf("%s is a saved report of all steps: make it with -steady", in))
		}
		if r != nil {
			return r, nil
		}
	}
	records, done := input.Source{
		Inputs: []string{in}, InOut: f.InOut, Mapping: flags.MappingFor(f.keys), Exclude: out.Exclude,
	}.Open(s)
	defer done()
	opts := diff.ReportOptions(f.keys)
	opts.Steady = f.steady
	r, err := analyze.Run(ctx, records, opts)
	if err == nil {
		err = records.Hold(r.Input.Entries * diff.SampleBytes)
	}
	if err != nil {
		return nil, exit.Input(err)
	}
	return r, nil
}

// readSavedReport returns the saved report at path, nil for any other input.
func readSavedReport(s streams.Streams, path string, most int64) (*analyze.Report, error) {
	info, err := s.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // the error is that of the reader
	}
	file, err := s.Open(path)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	defer func() { _ = file.Close() }()
	limited := &io.LimitedReader{R: file, N: most}
	r, err := diff.SavedReport(limited)
	if err != nil && limited.N <= 0 {
		return nil, fmt.Errorf("the saved report is larger than -max-memory allows: %d bytes", info.Size())
	}
	return r, err
}

func (f *diffFlags) write(w io.Writer, opts text.Options, r *diff.Report) error {
	switch {
	case f.json:
		return output.JSON(w, r)
	case f.markdown:
		return markdown.WriteDiff(w, r, markdown.Options{Rows: f.top})
	default:
		opts.Rows = f.top
		return text.WriteDiff(w, r, opts)
	}
}
