package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/render/text"
)

type whatifFlags struct {
	json    bool
	peaks   string
	changes []replay.Change
	display streams.DisplayFlags
	flags.InOut
}

func (f *whatifFlags) define(fs *flag.FlagSet) {
	fs.Func("change", "", func(text string) error {
		c, err := replay.Parse(text)
		f.changes = append(f.changes, c)
		return err
	})
	fs.StringVar(&f.peaks, "peaks", "", "")
	fs.BoolVar(&f.json, "json", false, "")
	f.display.Register(fs)
	f.InOut.Define(fs)
}

func (f *whatifFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	table, err := flags.ReadPeaks(f.peaks)
	if err != nil {
		return err
	}
	for _, name := range line.Inputs {
		if isChange(name) {
			return exit.Usagef("%q is no file. Write a change as -change 'WHAT SELECT'", name)
		}
	}
	return output.Produce(ctx, s, f.Output, line.Inputs, func(out *output.File) error {
		in, done := input.Source{Inputs: line.Inputs, InOut: f.InOut, Exclude: out.Exclude}.Open(s)
		r, err := analyze.RunWhatIf(ctx, in, analyze.Options{Peaks: table}, f.changes...)
		done()
		if unknown, ok := errors.AsType[*replay.UnknownError](err); ok {
			return exit.Input(fmt.Errorf("-change: %w%s", err, exit.Guess(unknown.Select, unknown.Names)))
		}
		if err != nil {
			return exit.Input(err)
		}
		isOpen := func(c replay.Change) bool { return c.Kind == replay.Roofline && table == nil }
		isKnown := func(model string) bool { return peaks.OfModel(model) != nil }
		if i := slices.IndexFunc(f.changes, isOpen); i >= 0 && !slices.ContainsFunc(r.Input.Models, isKnown) {
			return exit.Usagef("-change %q needs -peaks", f.changes[i])
		}
		out.Verdict = input.Unread(line.Inputs, &r.Input)
		s.Show(r)
		if f.json {
			return exit.Output(output.JSON(out, r))
		}
		return exit.Output(text.WriteWhatIf(out, r, f.display.On(out.Screen(s))))
	})
}

// isChange reports whether an input is no file, and a change or the first word of one.
func isChange(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	_, err := replay.Parse(name)
	if err != nil {
		_, err = replay.Parse(name + " x")
	}
	return err == nil
}
