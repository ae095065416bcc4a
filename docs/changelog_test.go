package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace"
)

// The changelog has a heading for the version of the module, behind what is unreleased, and
// headings as .ci/release looks for them.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`^## (?:Unreleased|\d+\.\d+\.\d+ – \d{4}-\d{2}-\d{2})$`)
	part := regexp.MustCompile(`^### (?:Added|Changed|Deprecated|Removed|Fixed|Security|Performance)$`)
	var versions []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			if !heading.MatchString(line) {
				t.Errorf("the heading %q", line)
			}
			if name := strings.Fields(line)[1]; name != "Unreleased" || len(versions) > 0 {
				versions = append(versions, name)
			}
		case strings.HasPrefix(line, "### ") && !part.MatchString(line):
			t.Errorf("the heading %q", line)
		}
	}
	if len(versions) == 0 || versions[0] != optrace.Version {
		t.Errorf("the changelog has the versions %q, and the module is %s", versions, optrace.Version)
	}
}
