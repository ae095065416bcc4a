//go:build tree

package tree

import (
	"cmp"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// readRules returns the lists of a file of testdata by the words in front of them.
func readRules(t *testing.T, name string) map[string][]string {
	t.Helper()
	rules := make(map[string][]string)
	for line := range strings.Lines(readFile(t, "internal/testing/tree/testdata/"+name)) {
		key, list, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		rules[key] = []string{}
		for word := range strings.FieldsSeq(list) {
			if more, ok := rules[word]; ok && strings.HasPrefix(word, "$") {
				rules[key] = append(rules[key], more...)
			} else {
				rules[key] = append(rules[key], word)
			}
		}
	}
	return rules
}

func TestAnalysesStandInOrder(t *testing.T) {
	all := goPackages(t)
	for pkg, below := range readRules(t, "analyses.txt") {
		allowed := []string{"op", "internal", "analyze/internal", "analyze/" + pkg}
		for _, other := range below {
			allowed = append(allowed, "analyze/"+other)
		}
		found, ok := all[module+"/analyze/"+pkg]
		if !ok {
			t.Errorf("analyze/%s is not there", pkg)
			continue
		}
		for _, imported := range found.Imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && !hasPrefix(own, allowed) {
				t.Errorf("analyze/%s must not import %s", pkg, own)
			}
		}
	}
}

// Below analyze only the root package and diff read files themselves.
func TestAnalysesDoNotReadFiles(t *testing.T) {
	for pkg, found := range goPackages(t) {
		own, ok := strings.CutPrefix(pkg, module+"/")
		if !ok || !hasPrefix(own, []string{"analyze"}) || own == "analyze" || own == "analyze/diff" {
			continue
		}
		if slices.Contains(found.Imports, module+"/ingest") {
			t.Errorf("%s must not import ingest", own)
		}
	}
}

// forbidden lists forbidden dependencies, regardless of the rules.
var forbidden = map[string]string{
	"cmd/optrace": "go.opentelemetry.io/otel/sdk",
	"tensorconv":  "go.opentelemetry.io/otel/sdk",
	"analyze":     "net/http",
	"render":      "net/http",
	"op":          "net/http",
}

// goCmp compares values in tests.
const goCmp = "github.com/google/go-cmp"

// testPackages are the paths of packages for tests.
var testPackages = []string{"internal/testing", "analyze/internal/tracetest"}

func TestImportRules(t *testing.T) {
	all := goPackages(t)
	rules := readRules(t, "imports.txt")
	for pkg, found := range all {
		rel, ok := found.own()
		if !ok {
			continue
		}
		key := rel
		for key != "" && rules[key] == nil {
			key = strings.TrimPrefix(path.Dir(key), ".")
		}
		forTests := hasPrefix(rel, testPackages)
		allowed := rules[cmp.Or(key, "(root)")]
		for _, dep := range found.Deps {
			if all[dep] == nil || all[dep].Standard || dep == pkg {
				continue
			}
			own, ok := strings.CutPrefix(dep, module+"/")
			bad, forbidding := forbidden[rel]
			switch {
			case ok && hasPrefix(own, testPackages):
				if !forTests {
					t.Errorf("%s must not depend on %s, a package for tests", pkg, dep)
				}
			case forbidding && hasPrefix(dep, []string{bad}):
				t.Errorf("%s must not depend on %s", pkg, dep)
			case key == "" && rel != "": // commands may depend on all packages
			case ok && !hasPrefix(own, allowed), !ok && !hasPrefix(dep, allowed) &&
				!(forTests && hasPrefix(dep, []string{goCmp})):
				t.Errorf("%s must not depend on %s", pkg, dep)
			}
		}
	}
}

func hasPrefix(pkg string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

// Engines record with the API of OpenTelemetry only. Their files stay free of the SDK.
func TestRecordingWithoutSDK(t *testing.T) {
	for _, name := range []string{"tracer.go", "op.go", "prepared.go", "recorder.go"} {
		f := check.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
		for _, spec := range f.Imports {
			if strings.HasPrefix(spec.Path.Value, `"go.opentelemetry.io/otel/sdk`) {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
}
