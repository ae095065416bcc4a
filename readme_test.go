package optrace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeSnippets holds the README's Go code against code that is compiled
// and run: every snippet stands in an example, line by line.
func TestReadmeSnippets(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "example_test.go") && !(strings.HasPrefix(path, "examples") && strings.HasSuffix(path, ".go")) {
			return err
		}
		text, err := os.ReadFile(path)
		sources = append(sources, unindent(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(snippets) == 0 {
		t.Error("no Go code in README.md")
	}
	for _, s := range snippets {
		want := unindent(s[1])
		found := false
		for _, text := range sources {
			found = found || strings.Contains(text, want)
		}
		if !found {
			t.Errorf("this stands in no example:\n%s", s[1])
		}
	}
}

// unindent removes the white space at both ends of every line.
func unindent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
