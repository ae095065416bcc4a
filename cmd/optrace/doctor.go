package main

import (
	"context"
	"flag"

	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/render/text"
)

type doctorFlags struct {
	json    bool
	display streams.DisplayFlags
	flags.InOut
}

func (f *doctorFlags) define(fs *flag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "")
	f.display.Register(fs)
	f.InOut.Define(fs)
}

func (f *doctorFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	return output.Produce(ctx, s, f.Output, line.Inputs, func(out *output.File) error {
		in, done := input.Source{Inputs: line.Inputs, InOut: f.InOut, Exclude: out.Exclude}.Open(s)
		r, err := doctor.Run(ctx, in)
		done()
		if err != nil {
			return exit.Input(err)
		}
		out.Verdict = input.Unread(line.Inputs, &r.Input)
		s.Show(r)
		if f.json {
			return exit.Output(output.JSON(out, r))
		}
		return exit.Output(text.WriteDoctor(out, r, f.display.On(out.Screen(s))))
	})
}
