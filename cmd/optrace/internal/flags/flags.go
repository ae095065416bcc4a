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

// Line is a command line: the flags and, in whatever order with them, the inputs.
type Line struct {
	*flag.FlagSet
	Inputs []string
	// Before is how many inputs stand in front of "--", -1 where that is not there.
	Before int
}

// Parse takes a command line apart. Everything after "--" is an input.
func Parse(fs *flag.FlagSet, args []string) (*Line, error) {
	l := &Line{FlagSet: fs, Before: -1}
	var set []string
	for len(args) > 0 && l.Before < 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			l.Before = len(l.Inputs)
			l.Inputs = append(l.Inputs, args...)
		case arg == ingest.Stdin || !strings.HasPrefix(arg, "-"):
			l.Inputs = append(l.Inputs, arg)
		case len(args) > 0 && ValueFollows(fs, arg):
			set = append(set, arg, args[0])
			args = args[1:]
		default:
			set = append(set, arg)
		}
	}
	if err := fs.Parse(set); err != nil {
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
	return l, nil
}

// CheckInput returns an error where there is no input.
func (l *Line) CheckInput() error {
	if len(l.Inputs) > 0 {
		return nil
	}
	for _, name := range []string{"html", "o"} {
		if f := l.Lookup(name); f != nil && f.Value.String() != "" {
			return exit.Usagef("no input: %q is the FILE of -%s; use - for standard input", f.Value.String(), name)
		}
	}
	return exit.Usagef("no input; use - for standard input")
}

// IsSet reports whether a flag was given.
func (l *Line) IsSet(name string) bool {
	set := false
	l.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// Rows returns how many rows of a table the flag -top allows, 0 for the default, where it was not given.
func (l *Line) Rows() int {
	if !l.IsSet("top") {
		return 0
	}
	n, _ := l.Lookup("top").Value.(flag.Getter).Get().(int)
	return n
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
