package main

import (
	"context"
	"flag"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
)

type convertFlags struct {
	to   string
	drop bool
	flags.InOut
	sums flags.Sums
}

func (f *convertFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.to, "to", "", "")
	fs.BoolVar(&f.drop, "drop-attributes", false, "")
	f.InOut.Define(fs)
	f.sums.Define(fs)
}

func (f *convertFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	to, err := convert.Find(f.to)
	if err != nil {
		return err
	}
	src := input.Source{Inputs: line.Inputs, InOut: f.InOut}
	if to.Name == convert.Profile {
		return f.writeSums(ctx, s, line, src)
	}
	for _, name := range flags.SumsNames {
		if line.IsSet(name) {
			return exit.Usagef("-%s needs -to %s", name, convert.Profile)
		}
	}
	return output.Produce(ctx, s, f.Output, line.Inputs, func(out *output.File) error {
		src.Exclude = out.Exclude
		return to.Write(s, src, out, f.drop, version())
	})
}

func (f *convertFlags) writeSums(ctx context.Context, s streams.Streams, line *flags.Line, src input.Source) error {
	opts, err := f.sums.Options()
	switch {
	case err != nil:
		return err
	case line.IsSet("drop-attributes"):
		return exit.Usagef("-drop-attributes does not apply to -to %s, which keeps only attributes of -by",
			convert.Profile)
	case slices.ContainsFunc(opts.By, key.Key.NeedsTree):
		tree := opts.By[slices.IndexFunc(opts.By, key.Key.NeedsTree)]
		return exit.Usagef("-by %s needs the structure of the whole run; -to %s does not keep it", tree,
			convert.Profile)
	}
	src.Mapping = flags.MappingFor(opts.By)
	return output.Produce(ctx, s, f.Output, src.Inputs, func(out *output.File) error {
		src.Exclude = out.Exclude
		out.Escape()
		in, done := src.Open(s)
		p, err := analyze.ReadPartial(ctx, in, opts)
		done()
		if err != nil {
			return exit.Input(err)
		}
		env := p.Input()
		out.Verdict = input.Unread(src.Inputs, &env)
		out.Done = func() { output.Wrote(s, f.Output, env.Entries) }
		return exit.Output(p.Write(out))
	})
}
