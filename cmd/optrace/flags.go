package main

import (
	"errors"
	"flag"
	"io"
)

// newFlags returns a flag set that leaves it to run to print errors.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parseFlags parses args and returns the inputs, of which there is at least one.
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	if err := fs.Parse(args); err != nil {
		return nil, flagError(err)
	}
	if fs.NArg() == 0 {
		return nil, usagef("no input; use - for standard input")
	}
	return fs.Args(), nil
}

// flagError makes what the flag package returned an error of usage, unless it
// is the wish for help.
func flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usagef("%w", err)
}
