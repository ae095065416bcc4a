package main

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest"
)

// topic is a help text that is not about one command.
type topic struct {
	name, summary string
	text          func() string
}

// topics lists the topics in the order of the overview.
func topics() []topic {
	return []topic{
		{"formats", "the formats that are read and written", formatsHelp},
		{"exit-codes", "what the exit codes mean", exitCodesHelp},
		{"json", "the keys of the reports in JSON", jsonHelp},
	}
}

// help prints the help text of a command or topic, without arguments the overview.
func help(s streams, args []string) int {
	if len(args) == 0 {
		return show(s, overview())
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return show(s, c.help())
		}
	}
	for _, t := range topics() {
		if t.name == args[0] {
			return show(s, t.text())
		}
	}
	fmt.Fprintf(s.err, "optrace: unknown command %q\n\n%s", args[0], overview())
	return exitUsage
}

// formatsHelp lists the formats of the readers and of convert.
func formatsHelp() string {
	var b strings.Builder
	b.WriteString("Optrace reads these formats. It finds the format of a file by its content, in gzip\n" +
		"and zstd too; -format NAME takes all inputs for files of one format:\n\n")
	seen := make(map[string]bool)
	for _, f := range ingest.Formats() {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		name := f.Name
		if f.Short != "" {
			name = f.Short + ", " + name
		}
		fmt.Fprintf(&b, "  %-23s %s\n", name, f.Summary)
	}
	b.WriteString("\nIt writes these; 'optrace help convert' says what each keeps:\n\n")
	for _, t := range targets() {
		fmt.Fprintf(&b, "  %-23s %s\n", t.name, t.summary)
	}
	return b.String()
}
