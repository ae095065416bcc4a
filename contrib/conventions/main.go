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

// run generates all files and writes those that change.
func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for _, f := range files {
		old, err := os.ReadFile(filepath.Join(root, f.path))
		if err == nil && bytes.Equal(old, f.text) {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, f.path), f.text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// file is a generated file, or one with generated parts.
type file struct {
	path string // below the root of the repository
	text []byte
}

// generate returns the files that follow from the registry below root, and from themselves
// as far as they are written by hand.
func generate(root string) ([]file, error) {
	reg, err := load(filepath.Join(root, "docs", "registry"))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, g := range []struct {
		path string
		text func(r *registry, old []byte) ([]byte, error)
	}{
		{"internal/attrkey/names.go", keyConstants},
		{"tensorconv/key.go", tensorconvConstants},
		{"docs/conventions.md", conventions},
		{"docs/entries.schema.json", schema},
	} {
		old, err := os.ReadFile(filepath.Join(root, g.path))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		text, err := g.text(reg, old)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.path, err)
		}
		files = append(files, file{g.path, text})
	}
	return files, nil
}
