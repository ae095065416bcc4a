//go:build tree

package tree

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// The exported API of every importable package equals its listing in docs/api. A removed line breaks
// callers, see compatibility.md; -update rewrites the listings.
func TestAPI(t *testing.T) {
	packages := goPackages(t)
	imports := importsOf(packages, token.NewFileSet())
	listed := make(map[string]bool)
	stable := stablePackages(t)
	counted := 0
	names := 0
	for path, p := range packages {
		name, ok := publicName(path)
		if !ok || p.Export == "" { // only test files
			continue
		}
		pkg := check.Must(imports.Import(path))(t)
		if pkg.Name() == "main" {
			continue
		}
		file := filepath.Join("docs", "api", name+".txt")
		listed[file] = true
		if slices.Contains(stable, strings.ReplaceAll(name, "_", "/")) {
			counted++
			names += len(exported(pkg))
		}
		golden.Check(t, file, strings.Join(listAPI(pkg), ""))
	}
	if names > 500 || counted != len(stable) {
		t.Errorf("%d of %d packages of compatibility.md have %d names, at most 500 are wanted", counted, len(stable),
			names)
	}
	if len(listed) < 20 {
		t.Errorf("%d packages are listed", len(listed))
	}
	files := check.Must(filepath.Glob("docs/api/*.txt"))(t)
	for _, file := range files {
		if !listed[filepath.FromSlash(file)] {
			t.Errorf("%s lists a missing package", file)
		}
	}
}

// stablePackages returns the packages with a stable API, the indented lines of compatibility.md.
func stablePackages(t *testing.T) (list []string) {
	text := check.Must(os.ReadFile("docs/compatibility.md"))(t)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "    ") {
			list = append(list, strings.Fields(line)...)
		}
	}
	return list
}

// exported returns the exported names of a package, without methods and fields.
func exported(pkg *types.Package) []string {
	return slices.DeleteFunc(pkg.Scope().Names(), func(name string) bool { return !token.IsExported(name) })
}

// publicName returns the name of a package's listing if other modules can import the package.
func publicName(path string) (string, bool) {
	if path == module {
		return "optrace", true
	}
	below, ok := strings.CutPrefix(path, module+"/")
	if !ok || slices.Contains(strings.Split(below, "/"), "internal") {
		return "", false
	}
	return strings.ReplaceAll(below, "/", "_"), true
}

// listAPI returns a line for each exported thing: constants with their values, functions, types with their
// exported fields and methods, and variables, sorted by name.
func listAPI(pkg *types.Package) []string {
	l := &apiList{pkg: pkg}
	scope := pkg.Scope()
	for _, name := range exported(pkg) {
		l.object(scope.Lookup(name))
	}
	slices.SortStableFunc(l.lines, func(a, b apiLine) int { return cmp.Compare(a.of, b.of) })
	lines := make([]string, len(l.lines))
	for i, line := range l.lines {
		lines[i] = line.text + "\n"
	}
	return lines
}

// apiList is a listing under construction.
type apiList struct {
	pkg   *types.Package
	lines []apiLine
}

// apiLine is a line about a name.
type apiLine struct{ of, text string }

func (l *apiList) add(of, format string, args ...any) {
	l.lines = append(l.lines, apiLine{of, fmt.Sprintf(format, args...)})
}

// typeString returns a type with the paths of packages, relative within this module.
func (l *apiList) typeString(t types.Type) string { return types.TypeString(t, l.qualify) }

func (l *apiList) qualify(other *types.Package) string {
	if other == l.pkg {
		return ""
	}
	return strings.TrimPrefix(other.Path(), module+"/")
}

// signature returns the parameters and results of a function, without names.
func (l *apiList) signature(s *types.Signature) string {
	unnamed := func(t *types.Tuple) *types.Tuple {
		var list []*types.Var
		for v := range t.Variables() {
			list = append(list, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(list...)
	}
	plain := types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
	return typeParams(s.TypeParams(), l.typeString) + strings.TrimPrefix(l.typeString(plain), "func")
}

func typeParams(list *types.TypeParamList, typeString func(types.Type) string) string {
	if list.Len() == 0 {
		return ""
	}
	var names []string
	for p := range list.TypeParams() {
		names = append(names, p.Obj().Name()+" "+typeString(p.Constraint()))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func (l *apiList) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		l.add(obj.Name(), "const %s %s = %s", obj.Name(), l.typeString(obj.Type()), constantText(obj.Val()))
	case *types.Var:
		l.add(obj.Name(), "var %s %s", obj.Name(), l.typeString(obj.Type()))
	case *types.Func:
		l.add(obj.Name(), "func %s%s", obj.Name(), l.signature(obj.Signature()))
	case *types.TypeName:
		l.typeName(obj)
	}
}

// constantText returns the exact value of a constant.
func constantText(v constant.Value) string {
	if v.Kind() == constant.Float {
		return v.String()
	}
	return v.ExactString()
}

// typeName adds a type with its exported fields and methods. An alias of an internal type is listed in full.
func (l *apiList) typeName(obj *types.TypeName) {
	name := obj.Name()
	named, ok := types.Unalias(obj.Type()).(*types.Named)
	if obj.IsAlias() && !(ok && strings.Contains(named.Obj().Pkg().Path(), "/internal/")) {
		l.add(name, "type %s = %s", name, l.typeString(types.Unalias(obj.Type())))
		return
	}
	name += typeParams(named.TypeParams(), l.typeString)
	switch t := named.Underlying().(type) {
	case *types.Struct:
		l.add(obj.Name(), "type %s struct", name)
		for f := range t.Fields() {
			if f.Exported() {
				l.add(obj.Name(), "type %s struct, %s %s", name, f.Name(), l.typeString(f.Type()))
			}
		}
	case *types.Interface:
		l.interfaceType(obj.Name(), name, t)
	default:
		l.add(obj.Name(), "type %s %s", name, l.typeString(t))
	}
	var methods []string
	for m := range named.Methods() {
		if !m.Exported() {
			continue
		}
		receiver := obj.Name()
		if _, ok := m.Signature().Recv().Type().(*types.Pointer); ok {
			receiver = "*" + receiver
		}
		methods = append(methods, fmt.Sprintf("method (%s) %s%s", receiver, m.Name(), l.signature(m.Signature())))
	}
	slices.Sort(methods)
	for _, m := range methods {
		l.add(obj.Name(), "%s", m)
	}
}

// interfaceType adds an interface. Other modules cannot implement an interface with unexported methods.
func (l *apiList) interfaceType(of, name string, t *types.Interface) {
	sealed := ""
	var methods []string
	for m := range t.Methods() {
		if !m.Exported() {
			sealed = ", with methods that are not exported"
			continue
		}
		methods = append(methods, fmt.Sprintf("type %s interface, %s%s", name, m.Name(), l.signature(m.Signature())))
	}
	l.add(of, "type %s interface%s", name, sealed)
	slices.Sort(methods)
	for _, m := range methods {
		l.add(of, "%s", m)
	}
	for e := range t.EmbeddedTypes() {
		if _, ok := e.(*types.Union); ok {
			l.add(of, "type %s interface, %s", name, l.typeString(e))
		}
	}
}
