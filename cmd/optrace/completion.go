package main

import (
	"embed"
	"flag"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
)

var shells = []string{"bash", "zsh", "fish"}

//go:embed completion
var completionScripts embed.FS

func printCompletion(s streams.Streams, arguments []string) error {
	if len(arguments) != 1 || !slices.Contains(shells, arguments[0]) {
		return exit.Usagef("which shell? There are scripts for %s", strings.Join(shells, ", "))
	}
	script, err := completionScripts.ReadFile("completion/optrace." + arguments[0])
	if err == nil {
		_, err = s.Out.Write(script)
	}
	return exit.Output(err)
}

// completionWords is the first argument of calls by the scripts. The words of the command line follow, up to the one
// being completed. Completion then prints a line for each candidate: a word, a tab and its description, or anyFile.
const completionWords = "words"

const anyFile = ":files"

// complete returns candidates for the last word, which may be empty.
func complete(words []string) []string {
	last := words[len(words)-1]
	lines := []string{"help\texplain a command or a topic"}
	for _, c := range commands() {
		lines = append(lines, c.name+"\t"+c.summary)
	}
	if len(words) == 1 {
		return starting(lines, "", last)
	}
	if words[0] == "help" {
		for _, t := range topics {
			lines = append(lines, t.name+"\t"+t.summary)
		}
		return starting(lines, "", last)
	}
	if c, ok := find(words[0]); ok {
		return c.complete(words[1:len(words)-1], last)
	}
	return nil
}

// complete returns candidates for the argument last after other arguments of the command.
func (c command) complete(before []string, last string) []string {
	fs := c.flagSet()
	flagsEnd := false
	for i := 0; i < len(before); i++ {
		switch arg := before[i]; {
		case flagsEnd || arg == ingest.Stdin || !strings.HasPrefix(arg, "-"):
		case arg == "--":
			flagsEnd = true
		case !flags.ValueFollows(fs, arg):
		case i == len(before)-1:
			return c.values(arg, "", last)
		default:
			i++
		}
	}
	name, value, hasValue := strings.Cut(last, "=")
	switch {
	case (flagsEnd || !strings.HasPrefix(last, "-") || last == ingest.Stdin) && c.arguments == nil:
		return []string{anyFile}
	case flagsEnd || !strings.HasPrefix(last, "-"):
		return starting(c.arguments, "", last)
	case hasValue:
		return c.values(name, name+"=", value)
	}
	about := flagSummaries(usageOf(c.name))
	var lines []string
	fs.VisitAll(func(f *flag.Flag) { lines = append(lines, "-"+f.Name+"\t"+about[f.Name]) })
	if strings.HasPrefix(last, "--") {
		return starting(lines, "-", last[1:])
	}
	return starting(lines, "", last)
}

// starting returns the lines that start with a text, behind a prefix.
func starting(lines []string, prefix, text string) (found []string) {
	for _, line := range lines {
		if line == anyFile {
			found = append(found, line)
		} else if strings.HasPrefix(line, text) {
			found = append(found, prefix+line)
		}
	}
	return found
}

// values returns the values of a flag that start with a text, behind a prefix. In a list it completes the last value.
func (c command) values(dashed, prefix, text string) []string {
	name := strings.TrimLeft(dashed, "-")
	lines := c.flagValues(name)
	if comma := strings.LastIndexByte(text, ','); comma >= 0 && (name == "by" || name == "section") {
		taken := strings.Split(text[:comma], ",")
		lines = slices.DeleteFunc(lines, func(line string) bool { return slices.Contains(taken, line) })
		prefix += text[:comma+1]
		text = text[comma+1:]
	}
	return starting(lines, prefix, text)
}

func (c command) flagValues(name string) (lines []string) {
	switch name {
	case "to":
		for _, t := range convert.Targets() {
			lines = append(lines, t.Name+"\t"+t.Summary)
		}
		return lines
	case "format":
		formats := ingest.Formats()
		for _, name := range ingest.FormatNames() {
			i := slices.IndexFunc(formats, func(f ingest.Format) bool { return name == f.Name || name == f.Short })
			lines = append(lines, name+"\t"+formats[i].Summary)
		}
		return lines
	case "by":
		return append(key.Names(), "attr:", attrkey.HardwareID, attrkey.HardwareType, attrkey.HardwareModel,
			attrkey.GPUIndex, attrkey.RequestModel)
	case "section":
		if c.name == "correlate" {
			return correlationSections
		}
		return slices.Clone(sections)
	case "color":
		return streams.Colors()
	case "peaks":
		return append(peaks.Names(), anyFile)
	case "o", "html", "link-patterns":
		return []string{anyFile}
	}
	return nil
}

const flagColumn = 20 // the column of descriptions in help texts

// flagSummaries returns the first line of each flag's description in a help text.
func flagSummaries(usage string) map[string]string {
	found := make(map[string]string)
	name := ""
	for line := range strings.Lines(usage) {
		if flag, ok := strings.CutPrefix(line, "  -"); ok {
			name = strings.Fields(flag)[0]
		}
		if name != "" && found[name] == "" { // behind a long name it is the next line
			found[name] = strings.TrimSpace(line[min(len(line), flagColumn):])
		}
	}
	return found
}
