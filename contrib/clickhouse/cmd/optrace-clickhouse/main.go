// The command optrace-clickhouse keeps operations in ClickHouse: it creates the
// tables, loads files into them, and prints the report that ClickHouse computes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
)

// The exit codes are those of optrace.
const (
	exitUsage  = 2
	exitInput  = 3
	exitOutput = 4
)

const overview = `optrace-clickhouse keeps operations in ClickHouse.

usage: optrace-clickhouse COMMAND [flags] [INPUT...]

  schema    print the statements that create the tables, or run them
  load      bring files into the tables, each record once
  report    print the report on what is there, computed in ClickHouse
  fetch     print the operations and spans of traces

Run 'optrace-clickhouse COMMAND -h' for the flags. All commands have

  -addr HOST:PORT  a server's native protocol (127.0.0.1:9000)
  -database NAME   (default)
  -user NAME       the password is that of the environment variable
                   CLICKHOUSE_PASSWORD
  -secure          connect by TLS

Exit codes: 0 fine, 2 wrong usage, 3 an input could not be read or ClickHouse
does not answer, 4 the output could not be written.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is a subcommand: it returns an error, an exitError for another code than exitInput.
type command func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	commands := map[string]command{"schema": runSchema, "load": runLoad, "report": runReport, "fetch": runFetch}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, overview)
		return 0
	}
	c, ok := commands[name]
	if !ok {
		fmt.Fprint(stderr, overview)
		return exitUsage
	}
	err := c(ctx, args[1:], stdout, stderr)
	var help *helpError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &help):
		fmt.Fprint(stdout, help.text)
		return 0
	}
	fmt.Fprintf(stderr, "optrace-clickhouse %s: %s\n", name, printable(err.Error()))
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.code
	}
	return exitInput
}

// exitError is an error with its exit code.
type exitError struct {
	code int
	error
}

// helpError is a help text that was asked for.
type helpError struct{ text string }

// Error returns the text.
func (e *helpError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitOutput, fmt.Errorf("writing output: %w", err)}
}

// printable replaces what a terminal might obey: messages quote names of files and
// operations.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// parse parses flags and returns the other arguments.
func parse(fs *flag.FlagSet, usage string, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		var flags strings.Builder
		fs.SetOutput(&flags)
		fs.PrintDefaults()
		return nil, &helpError{usage + "\nFlags:\n\n" + flags.String()}
	case err != nil:
		return nil, usagef("%w", err)
	}
	return fs.Args(), nil
}
