// Package flags has the flags shared by commands. It parses command lines with flags and inputs in any order.
package flags

import (
	"errors"
	"flag"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/text/units"
)

// Line is a parsed command line: flags and inputs.
type Line struct {
	*flag.FlagSet
	Inputs []string
	Before int // the number of inputs before "--", -1 without "--"
}

// Parse splits a command line. Everything after "--" is an input.
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
		return nil, describe(fs, err)
	}
	return l, nil
}

// otherNames maps the names of flags in other programs to their names here.
var otherNames = map[string]string{
	"addr": "listen", "address": "listen", "bind": "listen", "port": "listen", "out": "o", "output": "o",
	"limit": "top", "n": "top", "group-by": "by", "filter": "where", "sections": "section", "open": "html",
}

// removed maps flags of earlier versions to their replacement.
var removed = map[string]string{"push": noPush, "push-interval": noPush}

const noPush = "write profiles by optrace convert -to otlp-profiles -o FILE, and post FILE"

// badValue matches an error of package flag about a value: the quoted value, the flag and the cause.
var badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+?): (.*)$`)

// describe returns an error of package flag in plain words, with advice.
func describe(fs *flag.FlagSet, err error) error {
	if typed, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		if instead := removed[typed]; instead != "" {
			return exit.Usagef("-%s was removed: %s", typed, instead)
		}
		if other := otherNames[typed]; fs.Lookup(other) != nil {
			return exit.Usagef("unknown flag -%s; did you mean -%s?", typed, other)
		}
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		return exit.Unknown("flag", "-"+typed, names)
	}
	parts := badValue.FindStringSubmatch(err.Error())
	if parts == nil {
		return exit.Usagef("%w", err)
	}
	value := parts[1]
	name := parts[2]
	cause := parts[3]
	if cause == "parse error" || cause == "value out of range" { // of the types of package flag
		cause = "it is " + kindOf(fs.Lookup(name))
	}
	if strings.Contains(cause, value) {
		return exit.Usagef("-%s: %s", name, cause)
	}
	return exit.Usagef("-%s %s: %s", name, value, cause)
}

// kindOf says why a value does not fit the type of the flag.
func kindOf(f *flag.Flag) string {
	getter, _ := f.Value.(flag.Getter)
	switch getter.Get().(type) {
	case time.Duration:
		return "not a duration, such as 30s or 10m"
	case float64:
		return "not a number, such as 0.5"
	case bool:
		return "neither true nor false"
	}
	return "not a whole number, such as 10"
}

// CheckInput returns an error if there is no input, or if one is a URL.
func (l *Line) CheckInput() error {
	for _, in := range l.Inputs {
		isURL := strings.HasPrefix(in, "http://") || strings.HasPrefix(in, "https://")
		if _, err := os.Stat(in); err != nil && isURL {
			return exit.Usagef("%s is no file: download it first; correlate -jaeger URL asks a tracing backend", in)
		}
	}
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

// Rows returns the value of -top, the rows of a table; 0 without the flag means the default.
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
	f := fs.Lookup(name) // nil for "name=value"
	if f == nil {
		return false
	}
	boolean, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !boolean.IsBoolFlag()
}

// InOut are the flags of commands that read inputs and write an output.
type InOut struct {
	Format string     // the name of the inputs' format; "" finds it by content
	Output string     // the file to write, "" for standard output
	Memory MemorySize // bounds the memory for the input
}

// Define defines the flags.
func (f *InOut) Define(fs *flag.FlagSet) {
	Format(fs, &f.Format)
	fs.StringVar(&f.Output, "o", "", "")
	f.Memory = ingest.DefaultMaxMemory
	fs.Var(&f.Memory, "max-memory", "")
}

// Format defines the flag for the format of the inputs, and checks its value.
func Format(fs *flag.FlagSet, format *string) {
	fs.Func("format", "", func(name string) error {
		if names := ingest.FormatNames(); !slices.Contains(names, name) {
			return exit.Unknown("format", name, names)
		}
		*format = name
		return nil
	})
}

// MemorySize is the value of -max-memory in bytes; 0 is no bound.
type MemorySize int64

var _ flag.Value = (*MemorySize)(nil)

// String implements [flag.Value].
func (m *MemorySize) String() string { return units.Bytes(int64(*m)) }

// Set implements [flag.Value].
func (m *MemorySize) Set(text string) error {
	n, err := units.ParseBytes(text)
	*m = MemorySize(n)
	return err
}

// Option returns the size for [ingest.Options].
func (m MemorySize) Option() int64 {
	if m == 0 {
		return -1
	}
	return int64(m)
}

// LimitHeap makes the garbage collector keep the process below the bound, unless GOMEMLIMIT is set. A sixteenth remains
// for the program itself and for what comes before a collection ends. Collections are cheap, because operations are
// stored without pointers.
func (m MemorySize) LimitHeap() {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set && m > 0 {
		debug.SetMemoryLimit(int64(m - m/16))
	}
}
