package main

import (
	"embed"
	"fmt"
	"strings"

	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
)

// usages holds the help texts of commands and topics, and the parts they share.
//
//go:embed usage
var usages embed.FS

// usageOf returns the help text of a command or topic. A line such as {memory} stands for a part of it, and {to csv} for
// an output format.
func usageOf(name string) string {
	parts := []string{"{peaks}\n", flags.PeaksUsage()}
	for _, part := range []string{"display", "format", "memory"} {
		parts = append(parts, "{"+part+"}\n", usageFile("parts/"+part))
	}
	for _, t := range convert.Targets() {
		parts = append(parts, "{to "+t.Name+"}", fmt.Sprintf("  %-18s %s", t.Name, t.Summary))
	}
	return strings.NewReplacer(parts...).Replace(usageFile(name))
}

func usageFile(name string) string {
	text, _ := usages.ReadFile("usage/" + name + ".txt") // embedded
	return string(text)
}
