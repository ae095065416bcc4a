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

// registry is the content of the registry's files.
type registry struct {
	groups []*group
	// byID has the attributes that the registry defines or adopts.
	byID map[string]*attribute
}

// group is a group of attributes, or a span.
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
	ID               string      `yaml:"id"`
	Ref              string      `yaml:"ref"`
	Type             valueType   `yaml:"type"`
	Stability        string      `yaml:"stability"`
	Brief            string      `yaml:"brief"`
	Note             string      `yaml:"note"`
	Examples         []any       `yaml:"examples"`
	RequirementLevel requirement `yaml:"requirement_level"`
	Annotations      annotations `yaml:"annotations"`
}

// annotations are what this project adds to an attribute.
type annotations struct {
	// Key and Const name the constants in packages op and tensorconv; "" for none.
	Key   string `yaml:"key"`
	Const string `yaml:"const"`
	// Entry is the key in the entries format; behind a dot that within a key.
	Entry string `yaml:"entry"`
	// Type describes the type where that of the registry does not.
	Type string `yaml:"type"`
}

func (a *attribute) name() string {
	if a.Ref != "" {
		return a.Ref
	}
	return a.ID
}

func (a *attribute) typeText() string {
	switch {
	case a.Annotations.Type != "":
		return a.Annotations.Type
	case len(a.Type.members) > 0:
		return "string"
	}
	return a.Type.name
}

// valueType is the name of a type, or the members of an enumeration.
type valueType struct {
	name    string
	members []member
}

type member struct {
	ID        string `yaml:"id"`
	Value     string `yaml:"value"`
	Brief     string `yaml:"brief"`
	Stability string `yaml:"stability"`
}

var types = []string{"string", "int", "string[]", "int[]", "any"}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (t *valueType) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		t.name = n.Value
		if !slices.Contains(types, t.name) {
			return fmt.Errorf("line %d: unknown type %q", n.Line, t.name)
		}
		return nil
	}
	var enum struct {
		Members []member `yaml:"members"`
	}
	if err := n.Decode(&enum); err != nil {
		return err
	}
	if len(enum.Members) == 0 {
		return fmt.Errorf("line %d: a type without name and members", n.Line)
	}
	t.members = enum.Members
	return nil
}

// requirement is a requirement level: a word, or one with a condition.
type requirement struct{ level, condition string }

var levels = []string{"required", "recommended", "opt_in", "conditionally_required"}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (r *requirement) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		r.level = n.Value
	} else {
		var with map[string]string
		if err := n.Decode(&with); err != nil {
			return err
		}
		for level, condition := range with {
			r.level, r.condition = level, condition
		}
	}
	if !slices.Contains(levels, r.level) {
		return fmt.Errorf("line %d: unknown requirement level %q", n.Line, r.level)
	}
	return nil
}

// load reads the files of a directory, the manifest aside.
func load(dir string) (*registry, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	r := &registry{byID: make(map[string]*attribute)}
	for _, path := range paths {
		if filepath.Base(path) == "registry_manifest.yaml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := r.read(text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(r.groups) == 0 {
		return nil, fmt.Errorf("%s: no groups", dir)
	}
	return r, r.check()
}

// read adds the groups of a file.
func (r *registry) read(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var f struct {
		Groups []*group `yaml:"groups"`
	}
	if err := dec.Decode(&f); err != nil {
		return err
	}
	if err := dec.Decode(&f); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	r.groups = append(r.groups, f.Groups...)
	return nil
}

var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)

// check returns every rule that the registry breaks, and fills in byID.
func (r *registry) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	constants, entries, groups := make(map[string]string), make(map[string]string), make(map[string]bool)
	once := func(seen map[string]string, what, by string) {
		if seen[what] != "" && what != "" {
			fail("%s: %s is that of %s", by, what, seen[what])
		}
		seen[what] = by
	}
	for _, g := range r.groups {
		if groups[g.ID] || g.ID == "" || g.Brief == "" {
			fail("group %q: no id of its own, or no brief", g.ID)
		}
		groups[g.ID] = true
		if g.Type == "span" {
			continue
		}
		for _, a := range g.Attributes {
			name := a.name()
			switch {
			case !attributeName.MatchString(name):
				fail("%q is no name of an attribute", name)
			case r.byID[name] != nil:
				fail("%s: there twice", name)
			case a.ID != "" && (a.Stability == "" || len(a.Examples) == 0 || a.Type.name == "" && a.Type.members == nil):
				fail("%s: no stability, type or examples", name)
			case a.Ref != "" && a.Annotations.Type == "":
				fail("%s: no type", name)
			case !strings.HasSuffix(strings.TrimSpace(a.Brief), ".") || !strings.HasPrefix(a.Brief, "The "):
				fail("%s: the brief is no description such as \"The name of the operation.\"", name)
			}
			r.byID[name] = a
			once(constants, a.Annotations.Key, name)
			once(constants, a.Annotations.Const, name)
			once(entries, a.Annotations.Entry, name)
		}
	}
	for _, g := range r.spans() {
		for _, a := range g.Attributes {
			if r.byID[a.Ref] == nil {
				fail("%s: refers to %q, which is not there", g.ID, a.Ref)
			}
			if a.RequirementLevel.level == "" {
				fail("%s: %s has no requirement level", g.ID, a.Ref)
			}
		}
	}
	return errors.Join(errs...)
}

func (r *registry) spans() []*group {
	return slices.DeleteFunc(slices.Clone(r.groups), func(g *group) bool { return g.Type != "span" })
}

// attributeGroups returns the groups of attributes in the order in which they are shown:
// those of this project's conventions, then what is adopted, then what is optrace's own.
func (r *registry) attributeGroups() []*group {
	var list []*group
	for _, prefix := range []string{"registry.tensor.", "tensor.resource", "registry.optrace"} {
		for _, g := range r.groups {
			if g.Type != "span" && strings.HasPrefix(g.ID, prefix) {
				list = append(list, g)
			}
		}
	}
	return list
}
