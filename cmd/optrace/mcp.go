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

Mcp answers the questions of an assistant about inputs below the DIRECTORIES, the
working directory by default, by the Model Context Protocol on standard input and
output. Its tools are overview, table, operation, request, compare and doctor; they
read, and write nothing. An answer has at most 8,000 bytes, and says how to ask for
what does not fit. Calls are answered one after the other.

  -timeout D        how long a call may take (1m)
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
