package mcp

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// A link that replaces a file or directory after its path was resolved cannot be followed.
func TestLinksAfterResolve(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(filepath.Join(outside, "secret"), "secret")
	write(filepath.Join(dir, "file"), "inside")
	write(filepath.Join(dir, "below", "secret"), "inside")
	d := check.Must(openDirectories([]string{dir}))(t)
	paths := check.Must(d.resolve([]string{"file", "below/secret"}))(t)
	for _, path := range paths {
		file := check.Must(d.Open(path))(t)
		check.Equal(t, path, "inside", string(check.Must(io.ReadAll(file))(t)))
		check.OK(t, file.Close())
	}
	check.OK(t, os.Remove(filepath.Join(dir, "file")))
	check.OK(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "file")))
	check.OK(t, os.RemoveAll(filepath.Join(dir, "below")))
	check.OK(t, os.Symlink(outside, filepath.Join(dir, "below")))
	for _, path := range append(paths, filepath.Join(outside, "secret")) {
		if _, err := d.Open(path); err == nil {
			t.Errorf("%s is opened", path)
		}
		if _, err := d.Stat(path); err == nil {
			t.Errorf("%s is described", path)
		}
	}
}
