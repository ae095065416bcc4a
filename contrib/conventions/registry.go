package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

type registry struct {
	// spans and groups are in the order in which they are shown: groups of this project's
	// conventions, then what is adopted, then what is optrace's own.
	spans, groups []*group
}

type group struct {
	ID          string       `yaml:"id"`
	Type        string       `yaml:"type"`
	DisplayName string       `yaml:"display_name"`
	SpanKind    string       `yaml:"span_kind"`
	Stability   string       `yaml:"stability"`
	Brief       string       `yaml:"brief"`
	Note        string       `yaml:"note"`
	Attributes  []*attribute `yaml:"attributes"`
}

// attribute is a definition of an attribute, or a reference to one.
type attribute struct {
	ID          string      `yaml:"id"`
	Ref         string      `yaml:"ref"`
	Type        valueType   `yaml:"type"`
	Stability   string      `yaml:"stability"`
	Brief       string      `yaml:"brief"`
	Note        string      `yaml:"note"`
	Examples    []any       `yaml:"examples"`
	Requirement requirement `yaml:"requirement_level"`
	Annotations struct {    // of this project
		// Key and Const name the constants in packages attrkey and tensorconv; "" for none.
		Key   string `yaml:"key"`
		Const string `yaml:"const"`
		// Entry is the key in the entries format; behind a dot that within a key.
		Entry string `yaml:"entry"`
		// Type describes the type where that of the registry does not.
		Type string `yaml:"type"`
	} `yaml:"annotations"`
}

func (a *attribute) name() string { return a.Ref + a.ID }

// describe returns what an attribute is: its brief, the values to choose from, and its note.
func (a *attribute) describe() string {
	text := a.Brief
	if last := len(a.Type.values) - 1; last > 0 {
		text = strings.TrimSuffix(text, ".") + ": " + strings.Join(a.Type.values[:last], ", ") + " or " + a.Type.values[last] + "."
	}
	return strings.TrimSpace(text + " " + strings.TrimSpace(a.Note))
}

// valueType is the name of a type; that of an enumeration is string, with values.
type valueType struct {
	name   string
	values []string
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (t *valueType) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		t.name = n.Value
		if !slices.Contains([]string{"string", "int", "string[]", "int[]", "any"}, t.name) {
			return fmt.Errorf("line %d: unknown type %q", n.Line, t.name)
		}
		return nil
	}
	var enum struct {
		Members []struct {
			Value string `yaml:"value"`
		} `yaml:"members"`
	}
	if err := n.Decode(&enum); err != nil {
		return err
	}
	if len(enum.Members) == 0 {
		return fmt.Errorf("line %d: a type without name and members", n.Line)
	}
	t.name = "string"
	for _, m := range enum.Members {
		t.values = append(t.values, m.Value)
	}
	return nil
}

// requirement describes a requirement level: "opt in", or one with its condition.
type requirement string

var levels = []string{"required", "recommended", "opt_in", "conditionally_required"}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (r *requirement) UnmarshalYAML(n *yaml.Node) error {
	with := map[string]string{n.Value: ""}
	if n.Kind != yaml.ScalarNode {
		with = nil
		if err := n.Decode(&with); err != nil {
			return err
		}
	}
	for level, condition := range with {
		if !slices.Contains(levels, level) {
			return fmt.Errorf("line %d: unknown requirement level %q", n.Line, level)
		}
		*r = requirement(strings.ReplaceAll(level, "_", " "))
		if condition != "" {
			*r += requirement(": " + strings.TrimSuffix(strings.ToLower(condition[:1])+condition[1:], "."))
		}
	}
	return nil
}

// load reads the files of a directory, the manifest aside.
func load(dir string) (*registry, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*group
	for _, path := range paths {
		if filepath.Base(path) == "registry_manifest.yaml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		groups, err := read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, groups...)
	}
	r := newRegistry(all)
	return r, r.check()
}

func read(text []byte) ([]*group, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var f struct {
		Groups []*group `yaml:"groups"`
	}
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	if err := dec.Decode(&f); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return f.Groups, nil
}

func newRegistry(all []*group) *registry {
	r := new(registry)
	for _, prefix := range []string{"span.", "registry.tensor.", "tensor.resource", "registry.optrace"} {
		for _, g := range all {
			switch {
			case !strings.HasPrefix(g.ID, prefix):
			case g.Type == "span":
				r.spans = append(r.spans, g)
			default:
				r.groups = append(r.groups, g)
			}
		}
	}
	return r
}

var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)

// check returns every rule that the registry breaks.
func (r *registry) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	defined := make(map[string]bool)
	used := make(map[string]string) // the constants and keys of entries
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			name := a.name()
			switch {
			case !attributeName.MatchString(name):
				fail("%q is no name of an attribute", name)
			case defined[name]:
				fail("%s: there twice", name)
			case a.ID != "" && (a.Stability == "" || len(a.Examples) == 0 || a.Type.name == ""):
				fail("%s: no stability, type or examples", name)
			case a.Ref != "" && a.Annotations.Type == "":
				fail("%s: no type", name)
			case !strings.HasSuffix(strings.TrimSpace(a.Brief), ".") || !strings.HasPrefix(a.Brief, "The "):
				fail("%s: the brief is no description such as \"The name of the operation.\"", name)
			}
			defined[name] = true
			for _, what := range []string{"key " + a.Annotations.Key, "const " + a.Annotations.Const, "entry " + a.Annotations.Entry} {
				if used[what] != "" {
					fail("%s: the %s is that of %s", name, what, used[what])
				}
				if !strings.HasSuffix(what, " ") {
					used[what] = name
				}
			}
		}
	}
	for _, g := range r.spans {
		for _, a := range g.Attributes {
			switch {
			case !defined[a.Ref]:
				fail("%s: refers to %q, which is not there", g.ID, a.Ref)
			case a.Requirement == "":
				fail("%s: %s has no requirement level", g.ID, a.Ref)
			}
		}
	}
	return errors.Join(errs...)
}
