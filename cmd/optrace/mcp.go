package main

import (
	"context"
	"flag"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/mcp"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
)

const mcpUsage = `usage: optrace mcp [flags] [DIRECTORY...]

Mcp answers the questions of an assistant about inputs below the DIRECTORIES, by
default the working directory, by the Model Context Protocol on standard input and
output. Its tools are files, overview, table, operation, stack, request, compare, whatif
and doctor; they only read. An answer has at most 8,000 bytes and tells how to ask for the rest. Calls
are answered one at a time.

  -timeout D        the longest time of a call (1m)
` + flags.MemoryUsage + `
Examples:

  optrace mcp traces/
  claude mcp add optrace -- optrace mcp "$PWD"
`

type mcpFlags struct {
	timeout time.Duration
	memory  flags.MemorySize
}

func (f *mcpFlags) define(fs *flag.FlagSet) {
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "")
	f.memory = ingest.DefaultMaxMemory
	fs.Var(&f.memory, "max-memory", "")
}

func (f *mcpFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	directories := line.Inputs
	switch {
	case f.timeout <= 0:
		return exit.Usagef("-timeout is not positive")
	case len(directories) == 0:
		directories = []string{"."}
	}
	server, err := mcp.New(mcp.Options{
		Version: version(), Directories: directories, Memory: f.memory, Timeout: f.timeout, Execute: execute,
	})
	if err == nil {
		err = server.Run(ctx, s.In, s.Out)
	}
	if err != nil {
		return exit.Input(err)
	}
	return nil
}
