package main

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"(unknown)": nil,
		"(devel)":   {},
		"v0.2.0":    {Main: debug.Module{Version: "v0.2.0"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1a2b"}}},
		"(devel) 1a2b": {
			Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1a2b"}},
		},
	} {
		if got := versionOf(info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A release has the version that the linker stamped it with.
func TestReleaseIsStamped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command")
	}
	path := filepath.Join(t.TempDir(), "optrace.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-X main.release=v1.2.3", "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "optrace v1.2.3 go") {
		t.Errorf("%q, %v", out, err)
	}
}
