//go:build tree

package tree

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// size is the size of a package without its tests.
type size struct {
	files int // for any system
	lines int // of these files
	cycle int // files in the largest cycle of uses
}

// A package has at most 25 files, 4,000 lines, and a cycle of 8 files.
func TestSizes(t *testing.T) {
	sizes := make(map[string]size)
	for _, dir := range modules() {
		measureModule(t, dir, sizes)
	}
	for pkg, s := range sizes {
		if s.files > 25 || s.lines > 4000 || s.cycle > 8 {
			t.Errorf("%s is too large: %+v", pkg, s)
		}
	}
	if sizes["optrace"].files == 0 {
		t.Errorf("the root has no files: %v", sizes)
	}
}

// measureModule adds the sizes of the packages of the module in dir.
func measureModule(t *testing.T, dir string, sizes map[string]size) {
	packages := check.Must(listModule(dir, "./..."))(t)
	fset := token.NewFileSet()
	imports := importsOf(packages, fset)
	for path, p := range packages {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		s := size{}
		files := []*ast.File{}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f := check.Must(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
			s.files++
			s.lines += fset.File(f.FileStart).LineCount()
			files = append(files, f)
		}
		uses, err := fileUses(fset, path, files[:len(p.GoFiles)], imports) // the files for this system
		check.OK(t, err)
		cycle := largestCycle(uses)
		s.cycle = len(cycle)
		t.Logf("%s: %d files, %d lines, a cycle of %d: %s", path, s.files, s.lines, s.cycle, strings.Join(cycle, ", "))
		sizes[cmp.Or(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "optrace")] = s
	}
}

// fileUses returns by file which other files of a package declare the things it uses: variables,
// constants, types, functions, methods and fields.
func fileUses(fset *token.FileSet, path string, files []*ast.File, imports types.Importer) (map[string]map[string]bool,
	error) {
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := (&types.Config{Importer: imports}).Check(path, fset, files, info)
	if err != nil {
		return nil, err
	}
	name := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	uses := make(map[string]map[string]bool)
	for id, obj := range info.Uses {
		if _, imported := obj.(*types.PkgName); imported || obj.Pkg() != pkg || !obj.Pos().IsValid() {
			continue
		}
		from := name(id.Pos())
		to := name(obj.Pos())
		if uses[from] == nil {
			uses[from] = make(map[string]bool)
		}
		uses[from][to] = true
	}
	return uses, nil
}

// largestCycle returns the largest set of files in which each reaches all others, nil without a cycle.
func largestCycle(uses map[string]map[string]bool) (largest []string) {
	reached := make(map[string]map[string]bool)
	for from := range uses {
		reached[from] = make(map[string]bool)
		for list := []string{from}; len(list) > 0; list = list[1:] {
			for to := range uses[list[0]] {
				if !reached[from][to] {
					reached[from][to] = true
					list = append(list, to)
				}
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(uses)) {
		cycle := slices.DeleteFunc(slices.Sorted(maps.Keys(reached[from])),
			func(to string) bool { return !reached[to][from] })
		if len(cycle) > max(1, len(largest)) {
			largest = cycle
		}
	}
	return largest
}
