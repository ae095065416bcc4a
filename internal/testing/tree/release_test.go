//go:build tree

package tree

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A release prints the version from the linker.
func TestReleaseIsStamped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "optrace.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-X main.release=v1.2.3",
		"-o", path, "./cmd/optrace")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "optrace v1.2.3 go") {
		t.Errorf("%q, %v", out, err)
	}
}
