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

	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	_ "github.com/optrace/optrace/cmd/optrace/nsys" // is read as other formats are
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/text/termtext"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// topic is a help text about more than one command.
type topic struct {
	name, summary string
	text          func() string
}

// topics lists the topics in the order of the overview.
var topics = []topic{
	{"formats", "input and output formats", formatsHelp},
	{"exit-codes", "the exit codes", func() string { return usageOf("exit-codes") }},
	{"json", "the keys of the reports in JSON", help.JSON},
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := streams.Streams{In: stdin, Out: stdout, Err: stderr}
	if len(args) == 0 {
		fmt.Fprint(stderr, overview())
		return exit.WrongUsage
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		return explain(s, args[1:])
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	if c, ok := find(args[0]); ok {
		if c.name == "completion" && len(args) > 2 && args[1] == completionWords { // no flags of this command
			var lines strings.Builder
			for _, line := range complete(args[2:]) {
				lines.WriteString(line + "\n")
			}
			_, err := io.WriteString(s.Out, lines.String())
			return finish(s, c, exit.Output(err))
		}
		return finish(s, c, c.execute(ctx, s, args[1:]))
	}
	hint := "run 'optrace help' for the commands"
	if _, err := os.Stat(args[0]); err == nil {
		hint = fmt.Sprintf("'optrace report %s' profiles the operations in it", termtext.Clean(args[0]))
	}
	fmt.Fprintf(stderr, "optrace: unknown command %q%s\n%s\n", args[0], exit.Guess(args[0], commandNames()), hint)
	return exit.WrongUsage
}

func finish(s streams.Streams, c command, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return show(s, c.help())
	}
	code := exit.Code(err)
	if err != nil { // file names and input in errors may have control characters
		fmt.Fprintf(s.Err, "optrace %s: %s\n", c.name, termtext.Escape(err.Error()))
	}
	if code == exit.WrongUsage {
		fmt.Fprintf(s.Err, "run 'optrace help %s' for its usage\n", c.name)
	}
	return code
}

// explain prints the help text of a command or topic, or the overview without arguments.
func explain(s streams.Streams, args []string) int {
	if len(args) == 0 {
		return show(s, overview())
	}
	if c, ok := find(args[0]); ok {
		return show(s, c.help())
	}
	for _, t := range topics {
		if t.name == args[0] {
			return show(s, t.text())
		}
	}
	names := commandNames()
	for _, t := range topics {
		names = append(names, t.name)
	}
	fmt.Fprintf(s.Err, "optrace: unknown command %q%s\n\n%s", args[0], exit.Guess(args[0], names), overview())
	return exit.WrongUsage
}

func show(s streams.Streams, text string) int {
	if _, err := io.WriteString(s.Out, text); err != nil {
		fmt.Fprintf(s.Err, "optrace: writing help: %v\n", err)
		return exit.BadOutput
	}
	return exit.OK
}

func overview() string {
	var b strings.Builder
	b.WriteString("Optrace analyses recorded tensor operations.\n\nusage: optrace COMMAND [flags] [INPUT...]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.summary)
	}
	b.WriteString("\nAn INPUT is a file, a directory, or - for standard input; its format is found by content.\n" +
		"Run 'optrace help COMMAND' for flags and examples. Further topics are\n\n")
	for _, t := range topics {
		fmt.Fprintf(&b, "  optrace help %-11s %s\n", t.name, t.summary)
	}
	return b.String()
}

func formatsHelp() string {
	var b strings.Builder
	b.WriteString("Optrace reads these formats. It finds the format of a file by its content, also in\n" +
		"gzip, zstd and zip; -format NAME reads all inputs as one format:\n\n")
	seen := make(map[string]bool)
	for _, f := range ingest.Formats() {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		name := f.Name
		if f.Short != "" {
			name = f.Short + ", " + name
		}
		fmt.Fprintf(&b, "  %-23s %s\n", name, f.Summary)
	}
	b.WriteString("\nIt writes these; 'optrace help convert' lists the data kept by each:\n\n")
	for _, t := range convert.Targets() {
		fmt.Fprintf(&b, "  %-23s %s\n", t.Name, t.Summary)
	}
	return b.String()
}
