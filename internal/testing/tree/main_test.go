//go:build tree

package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// module is the path of this module.
const module = "github.com/optrace/optrace"

// TestMain runs the tests in the root of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

// goPackage is a package as listed by the go tool.
type goPackage struct {
	ImportPath    string
	Dir           string
	Standard      bool
	DepOnly       bool // outside the module
	Imports, Deps []string
	Export        string // the file with its types

	GoFiles, IgnoredGoFiles []string
}

// own returns the path of a package relative to this module, "" for the root.
func (p *goPackage) own() (below string, ok bool) {
	if p.ImportPath == module {
		return "", true
	}
	return strings.CutPrefix(p.ImportPath, module+"/")
}

// modules returns the folders of the modules of the tree.
func modules() (dirs []string) {
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		mods, _ := filepath.Glob(pattern) // the pattern is valid
		for _, mod := range mods {
			dirs = append(dirs, filepath.Dir(mod))
		}
	}
	return dirs
}

// goPackages returns the packages of the modules of the root, Parquet and the command, and all their
// dependencies, by path.
func goPackages(t *testing.T) map[string]*goPackage {
	t.Helper()
	return check.Must(listPackages())(t)
}

var listPackages = sync.OnceValues(func() (map[string]*goPackage, error) {
	return listModule(".", "./...", "./parquet/...", "./cmd/optrace/...")
})

var listed sync.Map // by the arguments of listModule

// listModule returns packages, by patterns in dir, and all their dependencies.
func listModule(dir string, patterns ...string) (map[string]*goPackage, error) {
	key := fmt.Sprint(dir, patterns)
	if all, ok := listed.Load(key); ok {
		return all.(map[string]*goPackage), nil
	}
	const fields = "-json=ImportPath,Dir,Standard,DepOnly,Imports,Deps,Export,GoFiles,IgnoredGoFiles"
	list := exec.Command("go", append([]string{"list", "-export", "-deps", fields}, patterns...)...)
	list.Dir = dir
	out, err := list.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list in %s: %w: %s", dir, err, exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]*goPackage)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		p := new(goPackage)
		if err := dec.Decode(p); err != nil {
			return nil, err
		}
		slices.Sort(p.Deps)
		all[p.ImportPath] = p
	}
	listed.Store(key, all)
	return all, nil
}

// importsOf returns an importer of packages.
func importsOf(packages map[string]*goPackage, fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		p := packages[path]
		if p == nil || p.Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(p.Export)
	})
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := check.Must(os.ReadFile(path))(t)
	return string(text)
}
