package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

var update = flag.Bool("update", false, "rewrite the examples in doc.go and the expected outputs of the scripts")

// The examples of the manual print the output that it shows.
func TestManual(t *testing.T) {
	const path = "doc.go"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata")
	got := runExamples(t, string(text))
	if *update {
		if err := os.WriteFile(source, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("manual (-says +is; rewrite with -update):\n%s", diff)
	}
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
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr); code != exit.OK {
			t.Fatalf("optrace %s: exit code %d\n%s", strings.TrimSpace(args), code, stderr.String())
		}
		for line := range strings.Lines(stdout.String()) {
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
