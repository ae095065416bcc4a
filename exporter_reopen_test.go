package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace"
)

// files returns the contents of the files in dir in the order of their names.
func files(t *testing.T, dir string) (names []string, contents [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		contents = append(contents, readFile(t, filepath.Join(dir, e.Name())))
	}
	return names, contents
}

// What would make a file unreadable is refused.
func TestReopenForeign(t *testing.T) {
	for _, before := range outputs() {
		for _, o := range outputs() {
			path := filepath.Join(t.TempDir(), "ops.out")
			content := before.batchOf(t, 2)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			exp, err := optrace.NewFileExporter(path, o.fileOptions()...)
			if err == nil {
				_ = exp.Shutdown(t.Context())
			}
			if (err == nil) != (before == o) {
				t.Errorf("appending %v to %v: error %v", o, before, err)
			}
			if !bytes.Equal(content, readFile(t, path)) {
				t.Errorf("appending %v to %v has changed the file", o, before)
			}
		}
	}
}
