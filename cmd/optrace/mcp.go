package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/mcp"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/serve/loopback"
)

type mcpFlags struct {
	http    string
	timeout time.Duration
	memory  flags.MemorySize
}

func (f *mcpFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.http, "http", "", "")
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
	switch {
	case err != nil:
		return exit.Input(err)
	case f.http != "":
		return f.serve(ctx, s, server)
	}
	if err := server.Run(ctx, s.In, s.Out); err != nil {
		return exit.Input(err)
	}
	return nil
}

// tokenVariable is the environment variable of the token, and minToken its least length.
const (
	tokenVariable = "OPTRACE_MCP_TOKEN"
	minToken      = 16
)

// serve serves the protocol over HTTP until ctx is done.
func (f *mcpFlags) serve(ctx context.Context, s streams.Streams, server *mcp.Server) error {
	host, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return exit.Usagef("%w", listenError("-http", err))
	}
	token := os.Getenv(tokenVariable)
	shown := "of " + tokenVariable
	switch {
	case token == "":
		token = rand.Text()
		shown = token
	case len(token) < minToken:
		return exit.Usagef("the token in %s has fewer than %d characters", tokenVariable, minToken)
	}
	host = cmp.Or(strings.ToLower(host), "127.0.0.1")
	l, err := loopback.Listen(ctx, net.JoinHostPort(host, port))
	if err != nil {
		return exit.Output(listenError("-http", err))
	}
	fmt.Fprintf(s.Out, "mcp    http://%s%s\ntoken  %s\n", l.Addr(), mcp.Path, shown)
	handler := server.Handler(loopback.Hosts{host}, token)
	return exit.Output(loopback.Serve(ctx, l, handler))
}
