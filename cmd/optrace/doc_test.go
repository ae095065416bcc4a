package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

var update = flag.Bool("update", false, "rewrite the examples in doc.go and the expected outputs of the scripts")

// The examples of the manual print the output that it shows.
func TestManual(t *testing.T) {
	const path = "doc.go"
	text := check.Must(os.ReadFile(path))(t)
	source := check.Must(filepath.Abs(path))(t)
	t.Chdir("testdata")
	got := runExamples(t, string(text))
	if *update {
		check.OK(t, os.WriteFile(source, []byte(got), 0o644))
		return
	}
	check.Equal(t, "manual; rewrite it with -update", string(text), got)
}

// runExamples returns doc with the real output of its examples. An example is a
// line "//	$ optrace …", followed by its output up to the next example or the next
// line of prose.
func runExamples(t *testing.T, doc string) string {
	t.Helper()
	const indent, prompt = "//\t", "//\t$ optrace "
	var out strings.Builder
	examples, printed := 0, false
	for line := range strings.Lines(doc) {
		args, isExample := strings.CutPrefix(line, prompt)
		if printed && !isExample && (line == "//\n" || strings.HasPrefix(line, indent)) {
			continue // the output in the manual
		}
		if printed {
			out.WriteString("//\n")
		}
		printed = false
		out.WriteString(line)
		if !isExample {
			continue
		}
		examples++
		printed = true
		for line := range strings.Lines(succeeds(t, strings.Fields(args)...)) {
			if line == "\n" {
				line = "//\n"
			} else {
				line = indent + line
			}
			fmt.Fprint(&out, line)
		}
	}
	if examples == 0 {
		t.Error("the manual has no examples")
	}
	return out.String()
}
