package main

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

// section is a part of the report.
type section struct {
	name string
	// structural is set if it needs the structure of the run, which takes memory
	// for every entry.
	structural bool
	// whole is set if it is nothing without.
	whole bool
}

var sections = []section{
	{name: "summary"},
	{name: "findings", structural: true, whole: true},
	{name: "operations", structural: true}, // for the self time
	{name: "operators", structural: true, whole: true},
	{name: "devices", structural: true},
	{name: "balance", structural: true},
	{name: "communication", structural: true},
	{name: "memory"},
	{name: "slowest"},
	{name: "idle", structural: true, whole: true},
	{name: "launches", structural: true, whole: true},
	{name: "critical_path", structural: true, whole: true},
	{name: "sequences", structural: true, whole: true},
	{name: "steps", structural: true, whole: true},
	{name: "phases", structural: true, whole: true},
	{name: "engines", structural: true, whole: true},
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
			return nil, exit.Usagef("unknown section %q%s; there are all, %s", name, exit.Guess(name, sectionNames()),
				strings.Join(sectionNames(), ", "))
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

// csvTable returns the name of the one table that is selected, where by is set that of the
// groups.
func (s selection) csvTable(by bool) (string, error) {
	if s == nil {
		s = selection{"operations"}
	}
	if len(s) > 1 {
		return "", exit.Usagef("-csv prints one table: choose one section, not %s", strings.Join(s, ", "))
	}
	operations := s.shows("operations")
	switch {
	case operations && by:
		return "groups", nil
	case operations:
		return "operations", nil
	case !by || s[0] == "engines":
		return s[0], nil
	}
	return "", exit.Usagef("-csv prints one table: that of the groups by -by, or that of -section %s", s[0])
}
