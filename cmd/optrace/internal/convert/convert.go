package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Find returns the format with a name.
func Find(name string) (Target, error) {
	var names []string
	for _, t := range Targets() {
		if t.Name == name || t.Name == "otlp" && name == "otlp-json" { // as inputs in the format are called
			return t, nil
		}
		names = append(names, t.Name)
	}
	switch name {
	case "":
		return Target{}, exit.Usagef("no -to; formats are %s", strings.Join(names, ", "))
	case "arrow", "arrow-lz4", "arrow-zstd": // of earlier versions
		return Target{},
			exit.Usagef("the format %s was removed: use parquet for tables, entries with zstd for recordings", name)
	}
	return Target{}, exit.Unknown("format", name, names)
}

// maxFaultsShown bounds the shown errors, and checkInterval is the number of records between checks of the memory.
const (
	maxFaultsShown = 10
	checkInterval  = 256
)

// Write writes the records of src to out. It leaves out unreadable records and reports them on s. drop leaves out
// attributes without a field in an operation; version is the program's.
func (t *Target) Write(s streams.Streams, src input.Source, out *output.File, drop bool, version string) error {
	if t.binary && out.Terminal {
		return exit.Usagef("%s is binary and unfit for a terminal: give -o FILE, or redirect with > FILE", t.Name)
	}
	out.Escape() // names of a recording may hold escape sequences
	found := analyze.Envelope{SkippedBy: make(map[string]int64)}
	var c *converter
	begin := func(first *op.Resource) {
		if c == nil {
			c = t.create(options{out, version, &found, first, int64(src.Memory)})
		}
	}
	if t.attributes && !drop {
		src.Mapping = new(attr.Mapping)
		src.Mapping.KeepAll()
	}
	in, done := src.Open(s)
	defer done()
	n := 0
	held := budget.Account{Hold: in.Hold}
	for rec, err := range in.Records() {
		switch syntax, ok := errors.AsType[*op.SyntaxError](err); {
		case ok:
			if found.Malformed < maxFaultsShown {
				fmt.Fprintf(s.Err, "optrace convert: left out: %q\n", syntax.Error())
			}
			found.Malformed += syntax.Count()
		case err != nil:
			return exit.Input(err)
		default:
			count(&found, rec)
			if drop {
				dropAttributes(rec)
			}
			begin(rec.Resource)
			long := longBytes(rec)
			if n++; c.holds != nil && (long > 0 || n%checkInterval == 0) {
				if err := held.Set(c.holds()+textCopies*long, 1); err != nil {
					return exit.Input(err)
				}
			}
			if err := c.record(rec); err != nil {
				return exit.Output(err)
			}
		}
	}
	done() // once more is harmless
	if found.Malformed > maxFaultsShown {
		fmt.Fprintf(s.Err, "optrace convert: left out %s in all\n", units.Plural(found.Malformed, "record"))
	}
	out.Verdict = input.Unread(src.Inputs, &found)
	out.Done = func() { output.Wrote(s, src.Output, found.Entries) }
	begin(nil)
	return exit.Output(c.end())
}

const textCopies = 8 // the number of copies of a text in memory while it is written

// longBytes returns about the size of a record with long texts or lists, 0 for any other.
func longBytes(rec op.Record) (n int64) {
	const manyBytes, perElement = 1 << 16, 64 // about, as it is written
	list := func(attrs []op.Attr, x *op.Extra) {
		elements := len(attrs)
		if x != nil {
			elements += len(x.Events) + len(x.Scope.Attrs)
		}
		if elements >= manyBytes/perElement {
			n += perElement * int64(elements)
		}
	}
	long := profile.LongRecord(&rec)
	if e := rec.Entry; e != nil {
		if list(e.Attrs, e.Extra); long {
			n += int64(len(e.Operation) + len(e.DeviceID) + len(e.Root) + len(e.Service) + len(e.Host))
		}
	} else if s := rec.Span; s != nil {
		if list(s.Attrs, s.Extra); long {
			n += int64(len(s.Name) + len(s.Service))
		}
	}
	return n
}

// count counts operations, and other records that show whether an input was read.
func count(in *analyze.Envelope, rec op.Record) {
	if rec.Entry != nil {
		in.Entries++
	}
	switch s := rec.Skipped; {
	case rec.Entry != nil, rec.Span != nil, s.N > 0 && s.Reason.IsSpan():
		in.Spans++
	case s.N > 0:
		in.SkippedBy[string(s.Reason)] += s.N
		if s.Signal != "" && !slices.Contains(in.Signals, s.Signal) {
			in.Signals = append(in.Signals, s.Signal)
		}
	}
}

func dropAttributes(rec op.Record) {
	var links []op.Link
	switch {
	case rec.Entry != nil:
		rec.Entry.Attrs = nil
		rec.Entry.Extra = nil
		links = rec.Entry.Links
	case rec.Span != nil:
		rec.Span.Attrs = nil
		rec.Span.Extra = nil
		links = rec.Span.Links
	case rec.Resource != nil:
		rec.Resource.Attrs = nil
	}
	for i := range links {
		links[i].Extra = nil
	}
}
