package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// screen matches a block of a page with command lines and what the last one prints.
var screen = regexp.MustCompile("(?ms)^```\n((?:\\$ optrace [^\n]+\n)+)(.*?)^```$")

// The pages for newcomers show what the commands print, with ops.jsonl of testdata as the file of the engine.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	ops := check.Must(os.ReadFile("testdata/ops.jsonl"))(t)
	for _, page := range []string{"start-go", "start-traces", "start-otel"} {
		path := check.Must(filepath.Abs("../../docs/" + page + ".md"))(t)
		t.Run(page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			check.OK(t, os.WriteFile("ops.jsonl", ops, 0o600))
			text := string(check.Must(os.ReadFile(path))(t))
			block := screen.FindStringSubmatch(text)
			if block == nil {
				t.Fatal("no screen")
			}
			printed := ""
			for line := range strings.Lines(block[1]) {
				printed += succeeds(t, strings.Fields(line)[2:]...)
			}
			golden.Check(t, path, strings.Replace(text, block[0], "```\n"+block[1]+printed+"```", 1))
		})
	}
}
