package main

import (
	"encoding/json"
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

// The entry for the registry of the Model Context Protocol is of this release, and keeps the registry's limits.
func TestRegistryEntry(t *testing.T) {
	var entry struct {
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version string }
	}
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile("../../docs/upstream/server.json"))(t), &entry))
	tracer := string(check.Must(os.ReadFile("../../tracer.go"))(t))
	module := string(check.Must(os.ReadFile("go.mod"))(t))
	p := entry.Packages[0]
	if !strings.Contains(tracer, `const Version = "`+entry.Version+`"`) || p.Version != "v"+entry.Version ||
		!strings.HasPrefix(module, "module "+p.Identifier+"\n") || p.RegistryType != "go" ||
		len(entry.Description) > 100 || strings.TrimPrefix(entry.Name, "io.") != "github.optrace/optrace" {
		t.Errorf("%+v", entry)
	}
}
