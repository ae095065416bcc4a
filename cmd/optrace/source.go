package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// source says what a command reads.
type source struct {
	inputs []string
	// format is the name of the inputs' format; "" finds it by content.
	format  string
	mapping *attr.Mapping
	// exclude reports whether a file found in a directory is left out.
	exclude func(fs.FileInfo) bool
	// memory bounds the memory that is taken for the input.
	memory memorySize
}

// open returns the input, with its progress on s, and a function to call when it
// has been read.
func (src source) open(s streams) (in *ingest.Input, done func()) {
	src.memory.limitHeap()
	p := newProgress(s.err, src.inputs)
	opts := ingest.Options{
		Mapping: src.mapping, Format: src.format, Stdin: s.in, Progress: p.add, Exclude: src.exclude,
		MaxMemory: src.memory.option(),
	}
	return opts.Open(src.inputs...), p.done
}

// largeInput is from how many bytes on an input is large.
const largeInput = 64 << 20

// limitGarbage makes the garbage collector run earlier where the inputs are large and their
// structure is held, unless the environment says otherwise: it holds few pointers, so that
// looking through it takes little time.
func (src source) limitGarbage() {
	if _, set := os.LookupEnv("GOGC"); !set && sizeOf(src.inputs) >= largeInput {
		debug.SetGCPercent(10)
	}
}

// holder is who holds much of what was read until the end.
type holder interface {
	// holds returns about how much memory that takes.
	holds() int64
}

// checkInterval is the number of records between two looks at the memory.
const checkInterval = 256

// each reads the inputs with all processors and calls f with every record, in the order
// of the inputs, and with the error in place of a record that could not be read. An error
// that ends the input is returned as an input error, one that f returns as it is. What
// holder holds, unless it is nil, is bounded.
func (src source) each(s streams, holder holder, f func(op.Record, error) error) error {
	in, done := src.open(s)
	defer done()
	var failed error
	n, held := 0, int64(0)
	err := in.InOrder(runtime.GOMAXPROCS(0), func(rec op.Record, err error) error {
		if failed = f(rec, err); failed != nil {
			return failed
		}
		if n++; holder != nil && n%checkInterval == 0 {
			more := holder.holds() - held
			held += more
			return in.Hold(more)
		}
		return nil
	})
	if err != nil && failed == nil {
		return inputError(err)
	}
	return failed
}

// formatFlag defines the flag that names the format of the inputs. It is checked while
// flags are parsed.
func formatFlag(fs *flag.FlagSet, format *string) {
	fs.Func("format", "", func(name string) error {
		if names := ingest.FormatNames(); !slices.Contains(names, name) {
			return fmt.Errorf("unknown format %q; formats are %s", name, strings.Join(names, ", "))
		}
		*format = name
		return nil
	})
}

// formatUsage describes that flag, for the help of a command.
func formatUsage() string {
	const (
		indent = "                    "
		width  = 80
	)
	var text strings.Builder
	text.WriteString("  -format NAME      take all INPUTs for files of a format, whatever they look like:")
	line := width
	for i, name := range ingest.FormatNames() {
		if i > 0 {
			text.WriteString(",")
			line += 2
		}
		if line+len(name) >= width {
			text.WriteString("\n" + indent)
			line = len(indent)
		} else {
			text.WriteString(" ")
		}
		text.WriteString(name)
		line += len(name)
	}
	return text.String()
}
