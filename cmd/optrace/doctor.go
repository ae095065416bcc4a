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

const doctorUsage = `usage: optrace doctor [flags] INPUT...

Doctor lists the gaps of a recording: operations without start, device, parent, shape,
element type, size, FLOPs, stream, launch time or step, collectives without number,
links without span, and so on. For each gap it names the missing figures of the report
and shows how to record them, in Go and by attributes in any language. Its memory does
not grow with the input.

  -json             print JSON, schema optrace.doctor/v1
` + flags.FormatUsage + `
  -o FILE           write to FILE, not an INPUT; replaced once complete
` + streams.DisplayUsage + flags.MemoryUsage + `
Examples:

  optrace doctor ops.jsonl
  optrace doctor -json ops.jsonl | jq -r '.findings[] | select(.missing > 0) | .name'
`

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
