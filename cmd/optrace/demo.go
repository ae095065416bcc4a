package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/text/termtext"
)

// recordings are the inputs of demo. TestDemoRecordings has their origin.
//
//go:embed demo
var recordings embed.FS

// demos are the arguments of demo, with the names of their recordings and what these are.
var demos = []struct{ name, file, about string }{
	{"gpu", "gpu.json.gz", "a small loop of PyTorch on an NVIDIA H100, written to be slow, recorded by PyTorch's profiler"},
	{"server", "server.jsonl.gz", "a simulated server with 120 requests, one of them with a prompt of 30,000 tokens"},
}

func demoNames() (names []string) {
	for _, d := range demos {
		names = append(names, d.name)
	}
	return names
}

type demoFlags struct{ output string }

func (f *demoFlags) define(fs *flag.FlagSet) { fs.StringVar(&f.output, "o", "", "") }

func (f *demoFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	if len(line.Inputs) != 1 {
		return exit.Usagef("which recording? There are %s", strings.Join(demoNames(), " and "))
	}
	i := slices.Index(demoNames(), line.Inputs[0])
	if i < 0 {
		return exit.Unknown("recording", line.Inputs[0], demoNames())
	}
	d := demos[i]
	files, err := fs.Sub(recordings, "demo")
	if err != nil {
		return exit.Input(err)
	}
	if f.output != "" {
		text, err := fs.ReadFile(files, d.file)
		if err == nil {
			err = os.WriteFile(f.output, text, 0o666)
		}
		if err == nil {
			fmt.Fprintf(s.Err, "wrote %s: %s\n", termtext.Escape(f.output), d.about)
		}
		return exit.Output(err)
	}
	s.Files = files
	if err := execute(ctx, s, []string{"report", d.file}); err != nil {
		return err
	}
	const format = "\nThis is %s.\nTo write it to FILE: optrace demo -o FILE %s. On a file of yours: optrace report FILE\n"
	fmt.Fprintf(s.Err, format, d.about, d.name)
	return nil
}
