package main

import (
	"context"
	"flag"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
)

// targetProfile is the format of partial results.
const targetProfile = "profile"

// sumsFlags are the flags that shape the sums of a report.
type sumsFlags struct {
	by      string
	top     int
	hotspot int64
	peaks   string
}

// sumsFlagNames are their names.
var sumsFlagNames = [...]string{"by", "top", "hotspot-bytes", "peaks"}

func (f *sumsFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.by, "by", "", "")
	fs.IntVar(&f.top, "top", profile.DefaultTop, "")
	fs.Int64Var(&f.hotspot, "hotspot-bytes", profile.DefaultHotspotBytes, "")
	fs.StringVar(&f.peaks, "peaks", "", "")
}

// options returns the options of the analyses, or an error if the flags do not fit.
func (f *sumsFlags) options() (analyze.Options, error) {
	keys, err := key.Parse(f.by)
	switch {
	case err != nil:
		return analyze.Options{}, usagef("-by: %w", err)
	case f.top < 0:
		return analyze.Options{}, usagef("-top is negative")
	case f.hotspot < 0:
		return analyze.Options{}, usagef("-hotspot-bytes is negative")
	}
	table, err := readPeaks(f.peaks)
	if err != nil {
		return analyze.Options{}, err
	}
	return analyze.Options{
		Peaks: table, By: keys,
		// 0 lists no entry and makes every entry with memory a hotspot.
		Top: int(orNegative(int64(f.top))), HotspotBytes: orNegative(f.hotspot),
	}, nil
}

// orNegative returns n, -1 for 0, which stands for the default in options.
func orNegative(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// runConvertSums writes the partial results of the inputs.
func runConvertSums(ctx context.Context, s streams, fs *flag.FlagSet, f *convertFlags, src source) error {
	opts, err := f.sums.options()
	switch {
	case err != nil:
		return err
	case isSet(fs, "push"):
		return usagef("-push needs -to %s, and no -o", targetOTLPProfiles)
	case isSet(fs, "drop-attributes"):
		return usagef("-drop-attributes is not for -to %s, which has the attributes of -by alone", targetProfile)
	}
	for _, k := range opts.By {
		if k.String() == "root" {
			return usagef("-by root needs the structure of the whole run, which -to %s has not", targetProfile)
		}
	}
	src.mapping = mappingFor(opts.By)
	return produce(ctx, s, f.output, src.inputs, func(out *output) error {
		src.exclude = out.exclude
		in, done := src.open(s)
		p, err := analyze.ReadPartial(ctx, in, opts)
		done()
		if err != nil {
			return inputError(err)
		}
		env := p.Input()
		out.verdict = unread(src.inputs, &env)
		return outputError(p.Write(out))
	})
}
