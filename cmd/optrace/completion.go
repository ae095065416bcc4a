package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/attrkey"
)

const completionUsage = `usage: optrace completion SHELL

Completion prints a script that makes a shell complete the commands of optrace,
their flags and the values of flags. The script asks the optrace that is on the
command line, so that it need not be made again for another version. SHELL is

%s
Examples:

  source <(optrace completion bash)        # in ~/.bashrc
  source <(optrace completion zsh)         # in ~/.zshrc, behind compinit
  optrace completion fish > ~/.config/fish/completions/optrace.fish
`

//go:embed completion
var completionScripts embed.FS

// completionWords is the argument behind which the scripts put the words of the command
// line, up to the one to be completed, and for which completion prints what fits.
const completionWords = "words"

func shells() []word {
	return []word{{"bash", "Bash 3.2 and later"}, {"zsh", "Z shell"}, {"fish", "fish 3.0 and later"}}
}

func completionCommand() command {
	var list strings.Builder
	for _, s := range shells() {
		fmt.Fprintf(&list, "  %-17s %s\n", s.text, s.about)
	}
	return command{
		name: "completion", summary: "print a script that completes command lines", usage: fmt.Sprintf(completionUsage, list.String()),
		arguments: shells(), run: runCompletion,
	}
}

func runCompletion(_ context.Context, s streams.Streams, args []string) error {
	if len(args) > 1 && args[0] == completionWords {
		return exit.Output(writeWords(s.Out, complete(args[1:])))
	}
	arguments, err := flags.Parse(flags.New("completion"), args)
	if err != nil {
		return err
	}
	if len(arguments) != 1 || !slices.ContainsFunc(shells(), func(w word) bool { return w.text == arguments[0] }) {
		return exit.Usagef("which shell? There are scripts for %s", strings.Join(texts(shells()), ", "))
	}
	script, err := completionScripts.ReadFile("completion/optrace." + arguments[0])
	if err == nil {
		_, err = s.Out.Write(script)
	}
	return exit.Output(err)
}

func wordsOf(texts []string) []word {
	words := make([]word, len(texts))
	for i, t := range texts {
		words[i].text = t
	}
	return words
}

func texts(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// choice is what fits at a place of the command line.
type choice struct {
	words []word
	list  bool // several words may stand there, separated by commas
	files bool // so may the name of a file
}

// flagValues returns what fits behind a flag; an empty choice for a number or a free text.
func flagValues(name string) choice {
	switch name {
	case "to":
		var c choice
		for _, t := range convert.Targets() {
			c.words = append(c.words, word{t.Name, t.Summary})
		}
		return c
	case "format":
		return choice{words: formatWords()}
	case "by":
		return choice{words: wordsOf(append(key.Names(), "attr:", attrkey.HardwareID, attrkey.HardwareType, attrkey.HardwareModel,
			attrkey.GPUIndex, attrkey.RequestModel)), list: true}
	case "section":
		return choice{words: wordsOf(sectionNames()), list: true}
	case "color":
		return choice{words: wordsOf(streams.Colors())}
	case "peaks":
		return choice{words: wordsOf(peaks.Names()), files: true}
	case "o", "html", "link-patterns":
		return choice{files: true}
	}
	return choice{}
}

func formatWords() []word {
	words := wordsOf(ingest.FormatNames())
	for i := range words {
		for _, f := range ingest.Formats() {
			if words[i].text == f.Name || words[i].text == f.Short {
				words[i].about = f.Summary
				break
			}
		}
	}
	return words
}

// complete returns what fits in place of the last of the words, which may be empty.
func complete(words []string) choice {
	last := words[len(words)-1]
	if len(words) == 1 {
		return commandWords().starting("", last)
	}
	if words[0] == "help" {
		c := commandWords()
		for _, t := range topics() {
			c.words = append(c.words, word{t.name, t.summary})
		}
		return c.starting("", last)
	}
	for _, c := range commands() {
		if c.name == words[0] {
			return c.complete(words[1:len(words)-1], last)
		}
	}
	return choice{}
}

func commandWords() choice {
	var c choice
	for _, cmd := range commands() {
		c.words = append(c.words, word{cmd.name, cmd.summary})
	}
	c.words = append(c.words, word{"help", "explain a command or a topic"})
	return c
}

// complete returns what fits as the argument last behind other arguments of the command.
func (c command) complete(before []string, last string) choice {
	fs := flags.New(c.name)
	if c.define != nil {
		c.define(fs)
	}
	flagsEnd := false
	for i := 0; i < len(before); i++ {
		switch arg := before[i]; {
		case flagsEnd || arg == ingest.Stdin || !strings.HasPrefix(arg, "-"):
		case arg == "--":
			flagsEnd = true
		case !flags.ValueFollows(fs, arg):
		case i == len(before)-1:
			return flagValues(strings.TrimLeft(arg, "-")).starting("", last)
		default:
			i++
		}
	}
	switch name, value, hasValue := strings.Cut(last, "="); {
	case flagsEnd || !strings.HasPrefix(last, "-") || last == ingest.Stdin:
		return choice{words: c.arguments, files: c.define != nil}.starting("", last)
	case hasValue:
		return flagValues(strings.TrimLeft(name, "-")).starting(name+"=", value)
	}
	return c.flagWords(fs, last)
}

// flagWords returns the flags that start with a text, with one dash or two.
func (c command) flagWords(fs *flag.FlagSet, start string) choice {
	dash := "-"
	if strings.HasPrefix(start, "--") {
		dash = "--"
	}
	about := flagSummaries(c.usage)
	var words []word
	fs.VisitAll(func(f *flag.Flag) { words = append(words, word{dash + f.Name, about[f.Name]}) })
	return choice{words: words}.starting("", start)
}

// starting returns the words that start with a text, behind a prefix. Of a list of words it
// completes the last one.
func (c choice) starting(prefix, text string) choice {
	var taken []string
	if c.list {
		if comma := strings.LastIndexByte(text, ','); comma >= 0 {
			taken = strings.Split(text[:comma], ",")
			prefix, text = prefix+text[:comma+1], text[comma+1:]
		}
	}
	found := choice{files: c.files}
	for _, w := range c.words {
		if strings.HasPrefix(w.text, text) && !slices.Contains(taken, w.text) {
			found.words = append(found.words, word{prefix + w.text, w.about})
		}
	}
	return found
}

// flagColumn is the column at which the help texts describe flags.
const flagColumn = 20

// flagSummaries returns the first line of what a help text says of each flag.
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

// writeWords writes a choice as the scripts read it: a word on each line, behind a tab what
// it stands for, and ":files" where files fit as well.
func writeWords(w io.Writer, c choice) error {
	var b strings.Builder
	for _, word := range c.words {
		b.WriteString(word.text)
		if word.about != "" {
			b.WriteString("\t" + word.about)
		}
		b.WriteByte('\n')
	}
	if c.files {
		b.WriteString(":files\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
