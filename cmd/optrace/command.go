package main

import (
	"context"
	"flag"

	"github.com/optrace/optrace/cmd/optrace/internal/streams"
)

type command struct {
	name, summary, usage string
	// define defines the flags of the command, for those who ask which it has; nil for none.
	define func(*flag.FlagSet)
	// arguments are the words that the command takes in place of inputs.
	arguments []word
	run       func(ctx context.Context, s streams.Streams, args []string) error
}

func (c command) help() string {
	return c.usage + "\nSee also: optrace help formats, optrace help exit-codes\n"
}

// word is a word of the command line and what it stands for.
type word struct{ text, about string }
