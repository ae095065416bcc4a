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

	"github.com/optrace/optrace/internal/termtext"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is a subcommand.
type command struct {
	name, summary, usage string
	// define defines the flags of the command, for those who ask which it has; nil for none.
	define func(*flag.FlagSet)
	// arguments are the words that the command takes in place of inputs.
	arguments []word
	run       func(ctx context.Context, s streams, args []string) error
}

// help returns the help text of the command.
func (c command) help() string { return c.usage + "\n" + exitCodesHelp() }

// commands lists the subcommands in the order of the manual.
func commands() []command {
	return []command{
		reportCommand(), convertCommand(), correlateCommand(), diffCommand(), serveCommand(), doctorCommand(),
		completionCommand(), versionCommand(),
	}
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := streams{in: stdin, out: stdout, err: stderr}
	if len(args) == 0 {
		fmt.Fprint(stderr, overview())
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		return help(s, args[1:])
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return finish(s, c, c.run(ctx, s, args[1:]))
		}
	}
	hint := "run 'optrace help' for the commands"
	if _, err := os.Stat(args[0]); err == nil {
		hint = fmt.Sprintf("'optrace report %s' profiles the operations in it", termtext.Clean(args[0]))
	}
	fmt.Fprintf(stderr, "optrace: unknown command %q\n%s\n", args[0], hint)
	return exitUsage
}

// finish reports a command's error and returns its exit code.
func finish(s streams, c command, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, flag.ErrHelp) {
		return show(s, c.help())
	}
	// Errors quote file names and input, which may hold control characters.
	fmt.Fprintf(s.err, "optrace %s: %s\n", c.name, termtext.Escape(err.Error()))
	var exit *exitError
	if !errors.As(err, &exit) {
		return exitInput
	}
	if exit.code == exitUsage {
		fmt.Fprintf(s.err, "run 'optrace help %s' for its usage\n", c.name)
	}
	return exit.code
}

// show prints a help text that was asked for.
func show(s streams, text string) int {
	if _, err := io.WriteString(s.out, text); err != nil {
		fmt.Fprintf(s.err, "optrace: writing help: %v\n", err)
		return exitOutput
	}
	return exitOK
}

func overview() string {
	var b strings.Builder
	b.WriteString("Optrace analyses recorded tensor operations.\n\nusage: optrace COMMAND [flags] [INPUT...]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.summary)
	}
	b.WriteString("\nAn INPUT is a file, a directory, or - for standard input; its format is found by content.\n" +
		"Run 'optrace help COMMAND' for the flags and for examples. Further topics are\n\n")
	for _, t := range topics() {
		fmt.Fprintf(&b, "  optrace help %-11s %s\n", t.name, t.summary)
	}
	b.WriteString("\n" + exitCodesHelp())
	return b.String()
}
