//go:build tree

package tree

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// size is how large a package is, tests aside.
type size struct {
	files int // in the folder, for any system
	lines int // of these
	cycle int // the files of the largest cycle: each uses, through others maybe, what every other one declares
}

// maxSize is what a package may have at most.
var maxSize = size{files: 25, lines: 4000, cycle: 8}

// largerSizes lists the packages that may have more, with the figures that are above maxSize,
// lines in hundreds. An entry shrinks with its package, and goes when the package fits.
var largerSizes = map[string]size{}

func TestSizes(t *testing.T) {
	sizes := make(map[string]size)
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		mods, _ := filepath.Glob(pattern) // which is well-formed
		for _, mod := range mods {
			measureModule(t, filepath.Dir(mod), sizes)
		}
	}
	for _, problem := range checkSizes(sizes, largerSizes) {
		t.Error(problem)
	}
}

// checkSizes returns what is wrong with the sizes of packages and the list of larger ones.
func checkSizes(sizes, larger map[string]size) (problems []string) {
	for _, pkg := range slices.Sorted(maps.Keys(sizes)) {
		verify := func(what string, got, most, listed int) {
			if got > max(most, listed) {
				problems = append(problems, fmt.Sprintf("%s has %d %s, more than %d", pkg, got, what, max(most, listed)))
			} else if listed > 0 && (got < listed || got <= most) {
				problems = append(problems, fmt.Sprintf("%s has %d %s, and %d in largerSizes", pkg, got, what, listed))
			}
		}
		got, listed := sizes[pkg], larger[pkg]
		if listed.lines > 0 && got.lines > maxSize.lines { // in hundreds
			got.lines = (got.lines + 99) / 100 * 100
		}
		verify("files", got.files, maxSize.files, listed.files)
		verify("lines", got.lines, maxSize.lines, listed.lines)
		verify("files in a cycle", got.cycle, maxSize.cycle, listed.cycle)
	}
	for pkg := range larger {
		if _, ok := sizes[pkg]; !ok {
			problems = append(problems, pkg+" is in largerSizes and not there")
		}
	}
	return problems
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
		s, files := size{}, []*ast.File{}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f := check.Must(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
			s.files++
			s.lines += fset.File(f.FileStart).LineCount()
			files = append(files, f)
		}
		uses, err := fileUses(fset, path, files[:len(p.GoFiles)], imports) // those for this system
		check.OK(t, err)
		cycle := largestCycle(uses)
		s.cycle = len(cycle)
		t.Logf("%s: %d files, %d lines, a cycle of %d: %s", path, s.files, s.lines, s.cycle, strings.Join(cycle, ", "))
		sizes[cmp.Or(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "optrace")] = s
	}
}

// fileUses returns which files of a package use what which others of them declare: variables, constants, types, functions,
// methods and fields.
func fileUses(fset *token.FileSet, path string, files []*ast.File, imports types.Importer) (map[string]map[string]bool, error) {
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
		from, to := name(id.Pos()), name(obj.Pos())
		if uses[from] == nil {
			uses[from] = make(map[string]bool)
		}
		uses[from][to] = true
	}
	return uses, nil
}

// largestCycle returns the files of the largest set in which each reaches every other one; nil where there is no cycle.
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
		cycle := slices.DeleteFunc(slices.Sorted(maps.Keys(reached[from])), func(to string) bool { return !reached[to][from] })
		if len(cycle) > max(1, len(largest)) {
			largest = cycle
		}
	}
	return largest
}

func TestLargestCycle(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"a.go": "package p; import q \"strings\"; type A struct { n int }; func f() { B{}.m(); _ = q.ToLower }",
		"b.go": "package p; type B struct{}; func (B) m() { _ = limit }",
		"c.go": "package p; var limit = d.n; var d A",           // a field and a type of a.go
		"d.go": "package p; func g() { f(); h() }; func h() {}", // uses others, and itself
		"e.go": "package p; const e = 1; func k() { l() }",      // a smaller cycle
		"f.go": "package p; func l() { _ = e }",
	} {
		f := check.Must(parser.ParseFile(fset, name, text, parser.SkipObjectResolution))(t)
		files = append(files, f)
	}
	uses := check.Must(fileUses(fset, "p", files, importsOf(goPackages(t), fset)))(t)
	if got, want := largestCycle(uses), []string{"a.go", "b.go", "c.go"}; !slices.Equal(got, want) {
		t.Errorf("the largest cycle is %q, want %q", got, want)
	}
}

func TestCheckSizes(t *testing.T) {
	sizes := map[string]size{"p": {files: 26, lines: 4001, cycle: 9}, "q": {files: 26, lines: 4001, cycle: 9}, "r": {cycle: 8}}
	got := checkSizes(sizes, map[string]size{"q": {files: 26, lines: 4200, cycle: 9}, "r": {cycle: 9}, "s": {cycle: 9}})
	want := []string{
		"p has 26 files, more than 25", "p has 4001 lines, more than 4000", "p has 9 files in a cycle, more than 8",
		"q has 4100 lines, and 4200 in largerSizes", "r has 8 files in a cycle, and 9 in largerSizes",
		"s is in largerSizes and not there",
	}
	check.Equal(t, "", want, got)
}
