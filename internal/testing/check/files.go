package check

import (
	"os"
	"path/filepath"
	"testing"
)

// Files returns the names and the contents of the files in a directory, sorted by name.
func Files(t testing.TB, dir string) (names []string, contents [][]byte) {
	t.Helper()
	for _, e := range Must(os.ReadDir(dir))(t) {
		if !e.IsDir() {
			names = append(names, e.Name())
			contents = append(contents, Must(os.ReadFile(filepath.Join(dir, e.Name())))(t))
		}
	}
	return names, contents
}
