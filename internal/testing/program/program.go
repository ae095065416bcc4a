// Package program provides the command optrace for tests. Only tests import it.
package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Optrace returns the path of the command: the environment variable OPTRACE, set by make test, or a new
// build from the repository at a path.
func Optrace(t testing.TB, repository string) string {
	t.Helper()
	if built := os.Getenv("OPTRACE"); built != "" {
		return built
	}
	path := filepath.Join(t.TempDir(), "optrace")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", repository, "-o", path, "./cmd/optrace")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}
