package main

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

var sections = []string{
	"summary", "findings", "operations", "roofline", "operators", "devices", "balance", "communication", "memory", "slowest",
	"errors", "idle", "launches", "critical_path", "sequences", "steps", "phases", "engines",
}

// correlationSections are the sections of correlate.
var correlationSections = []string{
	"findings", "blame", "endpoints", "engines", "price", "critical_path", "requests", "shared", "unattached",
}

// sumsOnly are sections without need for the structure of the run, which takes memory for every entry. The sections in
// inPart show less without it. All others need it.
var (
	sumsOnly = []string{"summary", "slowest"}
	inPart   = []string{"operations", "roofline", "devices", "balance", "communication", "memory", "errors"}
)

// selection is a set of sections; nil is all.
type selection []string

// parseSections returns the selection of a list of names.
func parseSections(list string, sections []string) (selection, error) {
	if list == "" || list == "all" {
		return nil, nil
	}
	var chosen selection
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, exit.Usagef("-section %q: a name is missing; write NAME or NAME,NAME", list)
		case name == "all":
			return nil, exit.Usagef("-section %q: all includes the others; write all alone", list)
		case !slices.Contains(sections, name):
			return nil, exit.Unknown("section", name, append([]string{"all"}, sections...))
		}
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// shows reports whether the text form shows the section. The summary includes the operations, as far as they are known
// without the structure.
func (s selection) shows(name string) bool {
	return s == nil || slices.Contains(s, name) || name == "operations" && slices.Contains(s, "summary")
}

// structural reports whether a selected section needs the structure, at least in part.
func (s selection) structural() bool {
	return s == nil || slices.ContainsFunc(s, func(name string) bool { return !slices.Contains(sumsOnly, name) })
}

// needsStructure reports whether a selected section is empty without the structure.
func (s selection) needsStructure() bool {
	return slices.ContainsFunc(s, func(name string) bool {
		return !slices.Contains(sumsOnly, name) && !slices.Contains(inPart, name)
	})
}

// csvTable returns the name of the one selected table; with by set this is the table of groups.
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
	return "", exit.Usagef("-csv prints one table: the groups of -by, or -section %s", s[0])
}
