// Package program gives tests the command optrace as a program. Only tests import it.
package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Optrace returns the path of the command: the value of the environment variable OPTRACE, as make test builds it once for
// all packages, or one that is built for this test from the repository at a path.
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
