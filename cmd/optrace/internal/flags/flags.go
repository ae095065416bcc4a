// Package flags has the flags that several commands have, and reads them from command lines in which flags and
// inputs come in any order.
package flags

import (
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
)

// New returns a flag set that leaves it to its caller to print errors.
func New(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// Parse parses args, in which flags and inputs may come in any order, and
// returns the inputs. Everything after "--" is an input.
func Parse(fs *flag.FlagSet, args []string) (inputs []string, err error) {
	flags, inputs := splitArgs(fs, args)
	if err := fs.Parse(flags); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		guess := ""
		if typed, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			var names []string
			fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
			guess = strings.Replace(exit.Guess(typed, names), "mean ", "mean -", 1)
		}
		return nil, exit.Usagef("%w%s", err, guess)
	}
	return inputs, nil
}

// ParseInputs is Parse for commands that need an input.
func ParseInputs(fs *flag.FlagSet, args []string) ([]string, error) {
	inputs, err := Parse(fs, args)
	if err == nil && len(inputs) == 0 {
		err = exit.Usagef("no input; use - for standard input")
		for _, name := range []string{"html", "o"} {
			if f := fs.Lookup(name); f != nil && f.Value.String() != "" {
				err = exit.Usagef("no input: %q is the FILE of -%s; use - for standard input", f.Value.String(), name)
			}
		}
	}
	return inputs, err
}

// IsSet reports whether a flag was given.
func IsSet(fs *flag.FlagSet, name string) bool {
	set := false
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// splitArgs separates flags with their values from inputs.
func splitArgs(fs *flag.FlagSet, args []string) (flags, inputs []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return flags, append(inputs, args...)
		case arg == ingest.Stdin || !strings.HasPrefix(arg, "-"):
			inputs = append(inputs, arg)
		default:
			flags = append(flags, arg)
			if len(args) > 0 && ValueFollows(fs, arg) {
				flags = append(flags, args[0])
				args = args[1:]
			}
		}
	}
	return flags, inputs
}

// ValueFollows reports whether the value of the flag is the next argument.
func ValueFollows(fs *flag.FlagSet, arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	f := fs.Lookup(name) // none for "name=value"
	if f == nil {
		return false
	}
	boolean, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !boolean.IsBoolFlag()
}
