//go:build ignore

// Generate writes the files that follow from the registry of attributes in docs/registry: the constants of packages
// attrkey and tensorconv, the tables of docs/conventions.md, and descriptions in docs/entries.schema.json.
//
//	go generate ./tensorconv
//
// It reads YAML with a module of go.work, because the module of this package does not require one. It knows the parts
// of OpenTelemetry's Weaver format in use and refuses others.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	root := flag.String("root", "..", "the directory of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the generated files below root, where they change.
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

// files are the generated files, and the functions from the registry and the old text to the new text.
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

// registry holds spans and groups in the order of the pages: optrace's conventions, adopted attributes, optrace's own
// attributes.
type registry struct{ spans, groups []*group }

type group struct {
	ID, Type, Stability, Brief, Note string
	DisplayName                      string `yaml:"display_name"`
	SpanKind                         string `yaml:"span_kind"`
	Attributes                       []*attribute
}

// attribute is a definition of an attribute, or a reference to one.
type attribute struct {
	ID, Ref, Stability, Brief, Note string
	Type                            valueType
	Examples                        []any
	Requirement                     requirement `yaml:"requirement_level"`
	Annotations                     struct {
		Key   string // constant in package attrkey, or ""
		Const string // constant in package tensorconv, or ""
		Entry string // key in the entries format, with a dot before a nested key
		Type  string // overrides the type
	}
}

func (a *attribute) name() string { return a.Ref + a.ID }

// describe returns the brief, the values of an enumeration, and the note.
func (a *attribute) describe() string {
	text := a.Brief
	if last := len(a.Type.values) - 1; last > 0 {
		values := strings.Join(a.Type.values[:last], ", ") + " or " + a.Type.values[last]
		text = strings.TrimSuffix(text, ".") + ": " + values + "."
	}
	return strings.TrimSpace(text + " " + strings.TrimSpace(a.Note))
}

// valueType is the name of a type. An enumeration has the name string, and values.
type valueType struct {
	name   string
	values []string
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (t *valueType) UnmarshalYAML(n *yaml.Node) error {
	t.name = n.Value
	var enum struct{ Members []struct{ Value string } }
	if n.Kind != yaml.ScalarNode {
		t.name = "string"
		if err := n.Decode(&enum); err != nil || len(enum.Members) == 0 {
			return cmp.Or(err, fmt.Errorf("line %d: a type without name and members", n.Line))
		}
	}
	for _, m := range enum.Members {
		t.values = append(t.values, m.Value)
	}
	if !slices.Contains([]string{"string", "int", "string[]", "int[]", "any", "double"}, t.name) {
		return fmt.Errorf("line %d: unknown type %q", n.Line, t.name)
	}
	return nil
}

// requirement describes a requirement level, such as "opt in", and its condition.
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

// load reads the files of dir, except the manifest.
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
	return r, r.check()
}

func read(text []byte) ([]*group, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var f struct{ Groups []*group }
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	if err := dec.Decode(&f); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return f.Groups, nil
}

var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$`)

// check returns all errors of the registry.
func (r *registry) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	defined := make(map[string]bool)
	used := make(map[string]string) // from constants and keys of entries to attributes
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
			for kind, use := range map[string]string{
				"key": a.Annotations.Key, "const": a.Annotations.Const, "entry": a.Annotations.Entry,
			} {
				if other := used[kind+use]; other != "" {
					fail("%s: %s also has the %s %s", name, other, kind, use)
				}
				if use != "" {
					used[kind+use] = name
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

// constants returns a generator of a Go file with the constants returned by constant, except those named "".
func constants(
	header string, described bool, constant func(*attribute) (name, value string),
) func(*registry, []byte) ([]byte, error) {
	return func(r *registry, _ []byte) ([]byte, error) {
		var b bytes.Buffer
		b.WriteString("// Code generated from docs/registry by tensorconv/generate.go; DO NOT EDIT.\n\n" + header)
		for _, g := range r.groups {
			var list bytes.Buffer
			for _, a := range g.Attributes {
				if name, value := constant(a); name != "" {
					if described {
						comment(&list, name+" is the "+strings.TrimPrefix(a.describe(), "The "))
					}
					fmt.Fprintf(&list, "\t%s = %s\n", name, value)
				}
			}
			if list.Len() > 0 {
				b.WriteString("\n")
				comment(&b, g.Brief)
				fmt.Fprintf(&b, "const (\n%s)\n", &list)
			}
		}
		return format.Source(b.Bytes())
	}
}

// comment writes text as a comment in lines of at most 120 bytes.
func comment(b *bytes.Buffer, text string) {
	const start = "\t//"
	line := start
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 120 {
			b.WriteString(line + "\n")
			line = start
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// The marks around the generated part of a page.
const (
	beginMark = "<!-- generated from docs/registry: go generate ./tensorconv -->\n"
	endMark   = "<!-- end of what is generated -->\n"
)

// conventions returns the page old with new tables.
func conventions(r *registry, old []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(old, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends || bytes.Contains(after, []byte(beginMark)) {
		return nil, fmt.Errorf("there is not one part between %q and %q", beginMark, endMark)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(beginMark)
	required := make(map[string]requirement)
	for _, g := range r.spans {
		fmt.Fprintf(&b, "\n### Span `%s`\n\n%s %s\n", g.ID, g.Brief, strings.TrimSpace(g.Note))
		for _, a := range g.Attributes {
			required[a.Ref] = a.Requirement
		}
	}
	b.WriteString("\n| attribute | type | what | example | requirement | in entries |\n|---|---|---|---|---|---|\n")
	for _, g := range r.groups {
		fmt.Fprintf(&b, "| **%s** | | %s | | | |\n", g.DisplayName, strings.TrimSpace(g.Brief))
		for _, a := range g.Attributes {
			entry := ""
			if a.Annotations.Entry != "" {
				entry = "`" + a.Annotations.Entry + "`"
			}
			typ := cmp.Or(a.Annotations.Type, a.Type.name)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", a.name(), typ, a.describe(), a.example(),
				required[a.name()], entry)
		}
	}
	b.WriteString("\n" + endMark)
	b.Write(after)
	return b.Bytes(), nil
}

func (a *attribute) example() string {
	if len(a.Examples) == 0 {
		return ""
	}
	if text, ok := a.Examples[0].(string); ok {
		return "`" + text + "`"
	}
	text, _ := json.Marshal(a.Examples[0]) // numbers and lists cannot fail
	return "`" + string(text) + "`"
}

// property matches a definition in the schema up to one of its properties, the beginning of this property, and its
// description. A property starts a line. A definition's contents are indented deeper than the definition.
const property = `(?m)^    "%s": \{\n(?:      .*\n)*?` +
	`( +"%s": \{ ?(?:\n +)?)(?:"description": "(?:[^"\\]|\\.)*", ?(?:\n +)?)?`

// schema returns the JSON Schema old with the descriptions of the registry. It returns an error if an enumeration in
// the schema differs from the registry's.
func schema(r *registry, old []byte) ([]byte, error) {
	var parsed struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum  []string `json:"enum"`
				Const any      `json:"const"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(old, &parsed); err != nil {
		return nil, err
	}
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			if a.Annotations.Entry == "" {
				continue
			}
			within, key, nested := strings.Cut(a.Annotations.Entry, ".")
			if !nested {
				key = within
				within = "entry"
			}
			p := parsed.Defs[within].Properties[key]
			if text, ok := p.Const.(string); ok {
				p.Enum = append(p.Enum, text)
			}
			if len(a.Type.values) > 0 && !slices.Equal(p.Enum, a.Type.values) {
				return nil, fmt.Errorf("%s: the schema has %q, the registry %q", a.ID, p.Enum, a.Type.values)
			}
			description, err := json.Marshal(a.Brief + " Attribute " + a.name() + ".")
			if err != nil {
				return nil, err
			}
			found := regexp.MustCompile(fmt.Sprintf(property, within, key)).FindSubmatchIndex(old)
			if found == nil {
				return nil, fmt.Errorf("%s: there is no definition %s with a property %s", a.name(), within, key)
			}
			separator := " "
			if opening := string(old[found[2]:found[3]]); strings.Contains(opening, "\n") {
				separator = opening[strings.IndexByte(opening, '\n'):]
			}
			text := `"description": ` + string(description) + "," + separator
			old = slices.Concat(old[:found[3]], []byte(text), old[found[1]:])
		}
	}
	return old, nil
}
