package main

import (
	"slices"
	"strings"
)

// section is a part of the report.
type section struct {
	name string
	// structural is set if it needs the structure of the run, which takes memory
	// for every entry.
	structural bool
}

// sections are the parts of the report in the order of its text form.
var sections = []section{
	{name: "summary"},
	{name: "operations", structural: true}, // for the self time
	{name: "devices", structural: true},
	{name: "balance", structural: true},
	{name: "communication", structural: true},
	{name: "memory"},
	{name: "slowest"},
	{name: "idle", structural: true},
	{name: "critical_path", structural: true},
	{name: "steps", structural: true},
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
			return nil, usagef("unknown section %q; there are %s", name, strings.Join(sectionNames(), ", "))
		}
		chosen = append(chosen, name)
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
