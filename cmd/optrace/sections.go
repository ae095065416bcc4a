package main

import (
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/render/csv"
)

// section is a part of the report.
type section struct {
	name string
	// structural is set if it needs the structure of the run, which takes memory
	// for every entry.
	structural bool
	// whole is set if it is nothing without.
	whole bool
	// table writes its table as CSV.
	table csvTable
}

// csvTable writes one table of a report.
type csvTable func(w io.Writer, r *analyze.Report, opts csv.Options) error

// sections are the parts of the report in the order of its text form.
var sections = []section{
	{name: "summary", table: csv.WriteOperations},
	{name: "findings", structural: true, whole: true, table: csv.WriteFindings},
	{name: "operations", structural: true, table: csv.WriteOperations}, // for the self time
	{name: "operators", structural: true, whole: true, table: csv.WriteOperators},
	{name: "devices", structural: true, table: csv.WriteDevices},
	{name: "balance", structural: true, table: csv.WriteBalance},
	{name: "communication", structural: true, table: csv.WriteBottlenecks},
	{name: "memory", table: csv.WriteHotspots},
	{name: "slowest", table: csv.WriteSlowest},
	{name: "idle", structural: true, whole: true, table: csv.WriteIdle},
	{name: "launches", structural: true, whole: true, table: csv.WriteLaunches},
	{name: "critical_path", structural: true, whole: true, table: csv.WriteCriticalPath},
	{name: "sequences", structural: true, whole: true, table: csv.WriteSequences},
	{name: "steps", structural: true, whole: true, table: csv.WriteSteps},
}

// selection is the set of sections that were asked for; nil is all.
type selection []string

// parseSections reads a list of sections separated by commas.
func parseSections(list string) (selection, error) {
	if list == "" || list == "all" {
		return nil, nil
	}
	var chosen selection
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) {
			return nil, exit.Usagef("unknown section %q%s; there are all, %s", name, exit.Guess(name, sectionNames()), strings.Join(sectionNames(), ", "))
		}
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

func sectionNames() []string {
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.name
	}
	return names
}

// has reports whether the section is selected.
func (s selection) has(name string) bool { return s == nil || slices.Contains(s, name) }

// shows reports whether the text form shows the section: the summary includes
// the operations, as far as they are known without the structure.
func (s selection) shows(name string) bool {
	return s.has(name) || name == "operations" && s.has("summary")
}

// structural reports whether a selected section needs the structure.
func (s selection) structural() bool {
	return slices.ContainsFunc(sections, func(x section) bool { return x.structural && s.has(x.name) })
}

// needsStructure reports whether a selected section is nothing without the structure.
func (s selection) needsStructure() bool {
	return s != nil && slices.ContainsFunc(sections, func(x section) bool { return x.whole && s.has(x.name) })
}

// csvTable returns the one table that is selected, where by is set that of the
// groups.
func (s selection) csvTable(by bool) (csvTable, error) {
	if s == nil {
		s = selection{"operations"}
	}
	if len(s) > 1 {
		return nil, exit.Usagef("-csv prints one table: choose one section, not %s", strings.Join(s, ", "))
	}
	chosen := sections[slices.IndexFunc(sections, func(x section) bool { return x.name == s[0] })]
	switch {
	case !by:
		return chosen.table, nil
	case s.shows("operations"):
		return csv.WriteGroups, nil
	}
	return nil, exit.Usagef("-csv prints one table: that of the groups by -by, or that of -section %s", chosen.name)
}
