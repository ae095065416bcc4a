// Package input opens the inputs of a command, shows progress, and describes inputs without usable records.
package input

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Source configures the input of a command.
type Source struct {
	Inputs []string
	flags.InOut
	Mapping *attr.Mapping
	// Exclude reports whether to leave out a file found in a directory.
	Exclude func(fs.FileInfo) bool
}

// Open returns the input, with its progress on s, and a function to call after reading it.
func (src Source) Open(s streams.Streams) (in *ingest.Input, done func()) {
	src.Memory.LimitHeap()
	p := newProgress(s.Err, src.Inputs)
	opts := ingest.Options{
		Mapping: src.Mapping, Format: src.Format, Stdin: s.In, Progress: p.add, Exclude: src.Exclude,
		FS: s.Files, MaxMemory: src.Memory.Option(),
	}
	return opts.Open(src.Inputs...), p.done
}

// Title names inputs by the last elements of their paths.
func Title(inputs []string) string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		if names[i] = filepath.Base(in); in == ingest.Stdin {
			names[i] = "standard input"
		}
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// Unread returns the error of inputs without readable spans; nil for empty and all other inputs. The output has the
// same figures.
func Unread(inputs []string, in *analyze.Envelope) error {
	others := in.SkippedBy[string(op.SkipOtherSignal)]
	if in.Spans > 0 || in.Malformed+others == 0 {
		return nil
	}
	what := "only " + records(in.Malformed)
	if others > 0 {
		what = "OTLP " + cmp.Or(strings.Join(in.Signals, " and "), "metrics, logs or profiles") + ", not spans"
		if in.Malformed > 0 {
			what += ", and " + records(in.Malformed)
		}
	}
	if len(inputs) > 1 {
		return exit.Input(fmt.Errorf("the inputs hold %s", what))
	}
	name := inputs[0]
	if name == ingest.Stdin {
		name = "standard input"
	}
	return exit.Input(fmt.Errorf("%s holds %s", name, what))
}

func records(n int64) string {
	if n == 1 {
		return "1 unreadable record"
	}
	return fmt.Sprintf("%d unreadable records", n)
}
