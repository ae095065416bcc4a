//go:build tree

package tree

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
)

// testNames returns the names of all tests and fuzz targets of the repository, and the scripts of the
// command as "script NAME.txtar".
func testNames(t *testing.T) (names []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	check.OK(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
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
	}))
	return names
}

// namedTest matches the name of a test in a page, or a prefix of several names followed by "…".
var namedTest = regexp.MustCompile("`((?:Test|Fuzz|script )[\\w.]+)(…?)`")

// testRows returns the rows of tables with tests in the last column, split into columns.
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
			inTable = true
			hasTests = last == "test"
		case hasTests && !strings.HasPrefix(last, "--"):
			rows = append(rows, columns)
		}
	}
	return rows
}

// Every row of the pages with promises names a test, and every named test exists.
func TestDocumentedTests(t *testing.T) {
	names := testNames(t)
	for _, path := range []string{"docs/faults.md", "docs/reliability.md"} {
		page := readFile(t, path)
		for _, m := range namedTest.FindAllStringSubmatch(page, -1) {
			if !slices.ContainsFunc(names, func(name string) bool {
				return name == m[1] || m[2] != "" && strings.HasPrefix(name, m[1])
			}) {
				t.Errorf("%s names %s, a missing test", path, m[0])
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

// The rows of each table of docs/faults.md are numbered in rising order, and no early row is lost.
func TestFaultsAreNumbered(t *testing.T) {
	last, rows := make(map[byte]int), make(map[byte]int)
	for _, row := range testRows(readFile(t, "docs/faults.md")) {
		id := strings.TrimSpace(row[0])
		if id == "" {
			t.Fatalf("a row without an id: %q", row)
		}
		n, err := strconv.Atoi(id[1:])
		if err != nil || n <= last[id[0]] {
			t.Errorf("row %s stands behind %c%d", id, id[0], last[id[0]])
		}
		last[id[0]] = n
		rows[id[0]]++
	}
	want := map[byte]int{'A': 8, 'B': 6, 'C': 8, 'D': 2, 'E': 9, 'F': 8, 'G': 9, 'H': 7, 'I': 1}
	for letter, n := range want {
		if rows[letter] < n {
			t.Errorf("%d rows of %c, there were %d", rows[letter], letter, n)
		}
	}
}

// The changelog has a heading for the version of the module after the unreleased changes, and headings in
// the form that .ci/release expects.
func TestChangelog(t *testing.T) {
	heading := regexp.MustCompile(`^## (?:\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2})$`)
	part := regexp.MustCompile(`^### (?:Added|Changed|Deprecated|Removed|Fixed|Security|Performance|Upgrading from \d+\.\d+\.\d+)$`)
	var versions []string
	for line := range strings.Lines(readFile(t, "CHANGELOG.md")) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			if !heading.MatchString(line) {
				t.Errorf("the heading %q", line)
			}
			if name := strings.Trim(strings.Fields(line)[1], "[]"); name != "Unreleased" || len(versions) > 0 {
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

// The newest table of an upgrade leads to names that are there.
func TestUpgradeTable(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "CHANGELOG.md"), "\n### Upgrading from ")
	table, _, _ = strings.Cut(table, "\n### ")
	var api strings.Builder
	for _, path := range check.Must(filepath.Glob("docs/api/*.txt"))(t) {
		api.WriteString(readFile(t, path))
	}
	name := regexp.MustCompile("`(?:\\w+\\.)*([A-Z]\\w*)`")
	rows := regexp.MustCompile(`(?m)^\| .* \| (.*) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) < 2 {
		t.Fatalf("no table: %s", table)
	}
	for _, row := range rows {
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(api.String()) {
				t.Errorf("%s: there is no %s", row[0], m[1])
			}
		}
	}
}

// Every importable package has an example. The tests of readers are examples of packages for tests.
func TestExamples(t *testing.T) {
	listings, err := filepath.Glob("docs/api/*.txt")
	if err != nil || len(listings) == 0 {
		t.Fatal(err, listings)
	}
	for _, listing := range listings {
		name := strings.TrimSuffix(filepath.Base(listing), ".txt")
		dir := filepath.FromSlash(strings.ReplaceAll(name, "_", "/"))
		if name == "optrace" {
			dir = "."
		}
		if strings.HasSuffix(dir, "test") {
			continue
		}
		tests := check.Must(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
		found := false
		for _, path := range tests {
			found = found || strings.Contains(readFile(t, path), "\nfunc Example")
		}
		if !found {
			t.Errorf("%s has no example", dir)
		}
	}
}

// Every Go snippet of README.md, docs/recording.md and docs/using.md is part of a compiled example, line by line.
func TestReadmeSnippets(t *testing.T) {
	var sources []string
	check.OK(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "example_test.go") &&
			!(strings.HasPrefix(path, "examples") && strings.HasSuffix(path, ".go")) {
			return err
		}
		text, err := os.ReadFile(path)
		sources = append(sources, unindent(string(text)))
		return err
	}))
	readme := readFile(t, "README.md")
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, more than 150", n)
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(
		readme+readFile(t, "docs/recording.md")+readFile(t, "docs/using.md"), -1)
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

// unindent removes white space at both ends of every line.
func unindent(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

// The documented environment variables equal those in the code.
func TestEnvironmentTable(t *testing.T) {
	documented := variableNames("(?m)^\\| `(OPTRACE_[A-Z_]+)`", readFile(t, "docs/environment.md"))
	read := make(map[string]bool)
	for _, file := range []string{"exporter_options.go", "processor_options.go", "setup.go"} {
		maps.Copy(read, variableNames(`\("(OPTRACE_[A-Z_]+)"`, readFile(t, file)))
	}
	for name := range read {
		if !documented[name] {
			t.Errorf("%s is read and not documented", name)
		}
	}
	for name := range documented {
		if !read[name] {
			t.Errorf("%s is documented and not read", name)
		}
	}
	if len(read) == 0 {
		t.Error("no variables found")
	}
}

// variableNames returns the matches of a pattern's first group.
func variableNames(pattern, text string) map[string]bool {
	set := make(map[string]bool)
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	return set
}

// Only the table of docs/recording.md, written by bench, has the costs of recording. Comments of the
// package state no times and allocations.
func TestCostsInOnePlace(t *testing.T) {
	figure := regexp.MustCompile(`(?m)^\s*//.*\d ?(µs|ns|allocations)\b.*`)
	files := check.Must(filepath.Glob("*.go"))(t)
	for _, path := range files {
		text := string(check.Must(os.ReadFile(path))(t))
		if found := figure.FindString(text); found != "" && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s states a cost: %s", path, found)
		}
	}
	page := string(check.Must(os.ReadFile("docs/recording.md"))(t))
	_, table, _ := strings.Cut(page, "<!-- table -->")
	if table, _, _ = strings.Cut(table, "<!-- end of table -->"); len(files) == 0 || strings.Count(table, " µs |") < 2 {
		t.Error("docs/recording.md has no table of costs")
	}
}
