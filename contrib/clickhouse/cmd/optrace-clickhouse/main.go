// The command optrace-clickhouse keeps operations in ClickHouse: it creates the tables, loads files, and
// prints the report that ClickHouse computes.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/internal/text/termtext"
)

// The exit codes of optrace.
const (
	exitUsage  = 2
	exitInput  = 3
	exitOutput = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usages holds the help texts of the command and its subcommands.
//
//go:embed usage
var usages embed.FS

func usageOf(name string) string {
	text, _ := usages.ReadFile("usage/" + name + ".txt") // embedded
	return string(text)
}

// command defines the flags of a subcommand and returns the function to run. Errors other than exitError exit with
// exitInput.
type command func(*flag.FlagSet) func(context.Context, *call) error

// call is a parsed command line.
type call struct {
	db             *clickhouse.Conn // connects on first use
	args           []string
	stdout, stderr io.Writer
}

var commands = map[string]command{"schema": defineSchema, "load": defineLoad, "report": defineReport}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usageOf("overview"))
		return 0
	}
	c, ok := commands[name]
	if !ok {
		fmt.Fprint(stderr, usageOf("overview"))
		return exitUsage
	}
	err := c.run(ctx, name, &call{args: args[1:], stdout: stdout, stderr: stderr})
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "optrace-clickhouse %s: %s\n", name, termtext.Escape(err.Error()))
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.code
	}
	return exitInput
}

// run parses the flags and runs the command, or prints its help.
func (c command) run(ctx context.Context, name string, l *call) error {
	o := clickhouse.Options{Password: os.Getenv("CLICKHOUSE_PASSWORD")}
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Addr, "addr", "127.0.0.1:9000", "`HOST:PORT` of a server's native protocol")
	fs.StringVar(&o.Database, "database", "default", "`NAME` of the database")
	fs.StringVar(&o.User, "user", "default", "`NAME` of the user; the password is $CLICKHOUSE_PASSWORD")
	fs.BoolVar(&o.Secure, "secure", false, "connect by TLS")
	run := c(fs)
	switch err := fs.Parse(l.args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(l.stdout, usageOf(name)+"\nFlags:\n\n")
		fs.SetOutput(l.stdout)
		fs.PrintDefaults()
		return nil
	case err != nil:
		return usagef("%w", err)
	}
	db, err := clickhouse.Open(o)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // results have been read
	l.db = db
	l.args = fs.Args()
	return run(ctx, l)
}

type exitError struct {
	code int
	error
}

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func outputError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitOutput, fmt.Errorf("writing output: %w", err)}
}
