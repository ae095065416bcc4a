package optrace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testNames returns the names of all tests and fuzz targets of the repository, and
// the scripts of the command as "script NAME.txtar".
func testNames(t *testing.T) (names []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
		case strings.HasSuffix(path, ".txtar"):
			names = append(names, "script "+entry.Name())
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// namedTest finds what a page says of a test: its name, or the beginning of the
// names of several with "…" behind it.
var namedTest = regexp.MustCompile("`((?:Test|Fuzz|script )[\\w.]+)(…?)`")

// testRows returns the rows of those tables of a page whose last column has tests, as
// columns.
func testRows(page string) (rows [][]string) {
	inTable, hasTests := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		columns := strings.Split(strings.Trim(line, "|"), "|")
		last := strings.TrimSpace(columns[len(columns)-1])
		switch {
		case !inTable:
			inTable, hasTests = true, last == "test"
		case hasTests && !strings.HasPrefix(last, "--"):
			rows = append(rows, columns)
		}
	}
	return rows
}

// TestDocumentedTests holds the pages that promise something to the tests that they
// name: each row names one, and those that are named are there.
func TestDocumentedTests(t *testing.T) {
	names := testNames(t)
	for _, path := range []string{"docs/faults.md", "docs/reliability.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
			if !slices.ContainsFunc(names, func(name string) bool {
				return name == m[1] || m[2] != "" && strings.HasPrefix(name, m[1])
			}) {
				t.Errorf("%s names %s, which is not there", path, m[0])
			}
		}
		rows := testRows(page)
		if len(rows) == 0 {
			t.Errorf("%s has no row", path)
		}
		for _, row := range rows {
			if !namedTest.MatchString(row[len(row)-1]) {
				t.Errorf("%s: no test is named at %q", path, row[0])
			}
		}
	}
}

// The rows of each table of docs/faults.md are numbered, so that none gets lost.
func TestFaultsAreNumbered(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	last := make(map[byte]int)
	for _, row := range testRows(string(text)) {
		id := strings.TrimSpace(row[0])
		if id == "" {
			t.Fatalf("a row without an id: %q", row)
		}
		last[id[0]]++
		if want := fmt.Sprintf("%c%d", id[0], last[id[0]]); id != want {
			t.Errorf("row %s stands where %s is expected", id, want)
		}
	}
	want := map[byte]int{'A': 8, 'B': 6, 'C': 8, 'D': 2, 'E': 9, 'F': 8, 'G': 9, 'H': 7, 'I': 1}
	for letter, n := range want {
		if last[letter] < n {
			t.Errorf("%d rows of %c, there were %d", last[letter], letter, n)
		}
	}
}
