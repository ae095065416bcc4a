package main

import (
	"context"
	"flag"
	"io"

	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
)

type command struct {
	name, summary string
	job
	needsInput bool     // set if the command requires an input
	arguments  []string // the words that the command takes instead of inputs; nil if it takes inputs
}

// job is one call of a command, with the values of its flags.
type job interface {
	define(fs *flag.FlagSet)
	run(ctx context.Context, s streams.Streams, line *flags.Line) error
}

// plain is a job without flags.
type plain func(s streams.Streams, arguments []string) error

func (plain) define(*flag.FlagSet) {}

func (p plain) run(_ context.Context, s streams.Streams, line *flags.Line) error {
	return p(s, line.Inputs)
}

// commands lists the commands, each for one call.
func commands() []command {
	return []command{
		{name: "report", summary: "profile the operations in the inputs", job: new(reportFlags), needsInput: true},
		{name: "convert", summary: "write the operations in another format", job: new(convertFlags), needsInput: true},
		{name: "correlate", summary: "find the operations that made a request slow", job: new(correlateFlags)},
		{name: "diff", summary: "find operations that became slower between runs", job: new(diffFlags)},
		{name: "serve", summary: "show operations in the browser as they come in", job: new(serveFlags)},
		{
			name: "doctor", summary: "list the gaps of a recording, and how to fill them", job: new(doctorFlags),
			needsInput: true,
		},
		{name: "whatif", summary: "predict the times with a change", job: new(whatifFlags), needsInput: true},
		{name: "demo", summary: "report on a recording within the command", job: new(demoFlags), arguments: demoNames()},
		{name: "mcp", summary: "answer an assistant by the Model Context Protocol", job: new(mcpFlags)},
		{
			name: "completion", summary: "print a completion script for a shell", job: plain(printCompletion),
			arguments: shells,
		},
		{name: "version", summary: "print the version", job: plain(printVersion), arguments: []string{}},
	}
}

func find(name string) (c command, ok bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return c, false
}

func (c command) help() string {
	return usageOf(c.name) + "\nSee also: optrace help formats, optrace help exit-codes\n"
}

func (c command) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the parser reports errors
	c.define(fs)
	return fs
}

// execute executes the command line of an existing command.
func execute(ctx context.Context, s streams.Streams, args []string) error {
	c, _ := find(args[0])
	return c.execute(ctx, s, args[1:])
}

func (c command) execute(ctx context.Context, s streams.Streams, args []string) error {
	line, err := flags.Parse(c.flagSet(), args)
	if err == nil && c.needsInput {
		err = line.CheckInput()
	}
	if err != nil {
		return err
	}
	return c.run(ctx, s, line)
}
