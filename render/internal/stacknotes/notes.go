// Package stacknotes is shared by the writers of profiles: the values of a profile, and notes about its input.
package stacknotes

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/text/units"
)

// Values are the values of a row.
var Values = []struct {
	Name, Unit string
	Of         func(*stacks.Row) int64
}{
	{"count", "count", func(r *stacks.Row) int64 { return r.Count }},
	{"time", "nanoseconds", func(r *stacks.Row) int64 { return r.TimeNS }},
	{"self", "nanoseconds", func(r *stacks.Row) int64 { return r.SelfNS }},
	{"bytes", "bytes", func(r *stacks.Row) int64 { return r.Bytes }},
	{"flops", "count", func(r *stacks.Row) int64 { return r.FLOPs }},
}

// Options configures the notes of a profile.
type Options struct {
	Version string // the version of the program that writes the profile
	// Lost is the number of operations lost by the recorder, Unread the number of malformed records.
	Lost, Unread int64
	Notes        []string // further sentences
}

// Of returns notes on the program that wrote the profile of a table, and on omitted data.
func Of(t *stacks.Table, opts Options) []string {
	notes := []string{strings.TrimSpace(stacks.Clean("optrace " + opts.Version))}
	note := func(n int64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, units.Count(n)))
		}
	}
	note(t.HostSide, "left out: %s operations seen from the host")
	note(t.Duplicates, "outside of the tree: %s operations with ids that were seen before")
	beyond := t.Overflowed()
	note(beyond.Stacks, "stacks beyond the limit, which are in "+stacks.Other+": %s")
	note(beyond.Shapes, "shapes of stacks beyond the limit, which are in "+stacks.Other+": %s")
	note(beyond.Requests, "requests beyond the limit, which are in "+stacks.Other+": %s")
	note(opts.Lost, "not recorded: %s operations that the recorder lost")
	note(opts.Unread, "left out: %s records that could not be read")
	for _, n := range opts.Notes {
		notes = append(notes, stacks.Clean(n))
	}
	return notes
}
