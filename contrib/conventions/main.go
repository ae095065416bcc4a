// Conventions generates what follows from the registry of attributes in docs/registry: the
// Go constants of packages attrkey and tensorconv, the tables of
// docs/conventions.md, and descriptions in docs/entries.schema.json.
//
//	go generate ./tensorconv
//
// It is a module of its own, so that what records and analyses does not read YAML. It knows
// of the form of OpenTelemetry's Weaver what the registry uses and refuses the rest.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "the directory of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "conventions:", err)
		os.Exit(1)
	}
}

// run writes the files that follow from the registry below root, where they change.
func run(root string) error {
	r, err := load(filepath.Join(root, "docs", "registry"))
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.path)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := f.generate(r, old)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if bytes.Equal(old, text) {
			continue
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files are the generated files, and those with generated parts: their paths below the root of the
// repository, and what follows from the registry, and from the file as far as it is written by hand.
var files = []struct {
	path     string
	generate func(r *registry, old []byte) ([]byte, error)
}{
	{"internal/model/attrkey/names.go", constants("package attrkey\n", false, func(a *attribute) (name, value string) {
		return a.Annotations.Key, fmt.Sprintf("%q", a.name())
	})},
	{"tensorconv/key.go", constants(tensorconvHeader, true, func(a *attribute) (name, value string) {
		return a.Annotations.Const, "attribute.Key(attrkey." + a.Annotations.Key + ")"
	})},
	{"docs/conventions.md", conventions},
	{"docs/entries.schema.json", schema},
}

const tensorconvHeader = `package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
)
`
