//go:build tree

package tree

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
)

// goMod is the content of a go.mod file.
type goMod struct {
	Module  struct{ Path string }
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct{}
}

func readGoMod(t *testing.T, dir string) (m goMod) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(dir, "go.mod")).Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	check.OK(t, err)
	return m
}

// Recording requires few modules: no gRPC, no Parquet, no Collector.
func TestRequirements(t *testing.T) {
	const most = 16
	var direct []string
	for _, r := range readGoMod(t, ".").Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	if len(direct) > most {
		t.Errorf("%d requirements, at most %d: %q", len(direct), most, direct)
	}
	for _, heavy := range []string{
		"google.golang.org/grpc", "google.golang.org/genproto", "github.com/parquet-go", "github.com/google/pprof",
		"github.com/andybalholm/brotli", "go.opentelemetry.io/collector",
	} {
		if slices.ContainsFunc(direct, func(path string) bool { return strings.HasPrefix(path, heavy) }) {
			t.Errorf("%s is required", heavy)
		}
	}
}

// releaseConstant returns the name of the constant of internal/release.
func releaseConstant() string {
	return "ModulesMustBeOfOneReleaseV" + strings.ReplaceAll(optrace.Version, ".", "_")
}

// Modules require each other's current release, and only go.work replaces modules: go install rejects a
// module with replacements, and a requiring module ignores them. The constant has the version, too.
func TestReleaseOfModules(t *testing.T) {
	for _, dir := range modules() {
		m := readGoMod(t, dir)
		if len(m.Replace) > 0 {
			t.Errorf("%s/go.mod replaces modules", dir)
		}
		for _, r := range m.Require {
			if strings.HasPrefix(r.Path, module) && r.Version != "v"+optrace.Version {
				t.Errorf("%s/go.mod requires %s %s, and the version is v%s", dir, r.Path, r.Version, optrace.Version)
			}
		}
	}
	if !strings.Contains(readFile(t, "internal/release/release.go"), "\nconst "+releaseConstant()+" = true") {
		t.Errorf("package release has no constant %s", releaseConstant())
	}
}

// A package of another module fails to compile with another release of the root if it imports internal
// packages of the root, directly or through its own module.
func TestModulesMustBeOfOneRelease(t *testing.T) {
	const internal = module + "/internal/"
	for _, dir := range modules() {
		sibling := module + "/" + dir
		if dir == "." {
			continue
		}
		packages := check.Must(listModule(dir, "./..."))(t)
		for path, p := range packages {
			if p.DepOnly || strings.Contains(path, "/internal/") {
				continue
			}
			var imports []string
			for _, path := range append(p.Deps, path) {
				if path == sibling || strings.HasPrefix(path, sibling+"/") {
					imports = append(imports, packages[path].Imports...)
				}
			}
			fromRoot := func(path string) bool { return strings.HasPrefix(path, internal) }
			if slices.ContainsFunc(imports, fromRoot) && !slices.Contains(imports, internal+"release") {
				t.Errorf("%s imports internal packages of the root, and does not refer to release.%s", path,
					releaseConstant())
			}
		}
	}
}

// The plugin stays small, comments included.
func TestPluginLines(t *testing.T) {
	const most = 17_000
	all := goPackages(t)
	lines := 0
	for _, path := range append([]string{module}, all[module].Deps...) {
		p := all[path]
		if _, ok := p.own(); !ok {
			continue
		}
		for _, file := range p.GoFiles {
			text := check.Must(os.ReadFile(filepath.Join(p.Dir, file)))(t)
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	if lines > most {
		t.Errorf("%d lines, at most %d", lines, most)
	}
}

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
