package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/render/text"
)

const doctorUsage = `usage: optrace doctor [flags] INPUT...

Doctor says what a recording lacks: of how many operations no start, device, parent,
shape, element type, size, FLOPs, stream, launch time, step and so on is known, of how
many collectives no number, and of how many links no span. For each it says which
figures of the report that costs, and what records it: in Go, and by attributes in any
language. The memory that it needs does not grow with the input.

  -json             print JSON, schema optrace.doctor/v1
%s
  -o FILE           write to FILE, which is no INPUT and is replaced once complete
` + displayUsage + memoryHelp + `
Examples:

  optrace doctor ops.jsonl
  optrace doctor -json ops.jsonl | jq -r '.findings[] | select(.missing > 0) | .name'
`

// doctorFlags are the flags of the doctor command.
type doctorFlags struct {
	json    bool
	format  string
	output  string
	display displayFlags
	memory  *memorySize
}

func doctorCommand() command {
	return command{
		name: "doctor", summary: "say what a recording lacks, and how to record it", usage: fmt.Sprintf(doctorUsage, formatUsage()),
		define: new(doctorFlags).define, run: runDoctor,
	}
}

// define defines the flags.
func (f *doctorFlags) define(fs *flag.FlagSet) {
	fs.BoolVar(&f.json, "json", false, "")
	formatFlag(fs, &f.format)
	fs.StringVar(&f.output, "o", "", "")
	f.display.register(fs)
	f.memory = addMemoryFlag(fs)
}

func runDoctor(ctx context.Context, s streams, args []string) error {
	var f doctorFlags
	fs := newFlags("doctor")
	f.define(fs)
	inputs, err := parseInputs(fs, args)
	if err == nil {
		err = f.display.check()
	}
	if err != nil {
		return err
	}
	return produce(ctx, s, f.output, inputs, func(out *output) error {
		in, done := source{inputs: inputs, format: f.format, exclude: out.exclude, memory: *f.memory}.open(s)
		r, err := doctor.Run(ctx, in)
		done()
		if err != nil {
			return inputError(err)
		}
		out.verdict = unread(inputs, &r.Input)
		if f.json {
			return outputError(writeJSON(out, r))
		}
		d := f.display.on(out.screen(s))
		return outputError(text.WriteDoctor(out, r, text.Options{Color: d.color, Width: d.width}))
	})
}
