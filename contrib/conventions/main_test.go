package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const repository = "../.."

// The generated files are what the registry says.
func TestGenerated(t *testing.T) {
	files, err := generate(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(repository, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(f.text)); diff != "" {
			t.Errorf("%s is not up to date, run go generate ./tensorconv (-file +registry):\n%s", f.path, diff)
		}
	}
}

// A change in the registry changes every kind of file that follows from it, and the files
// are then stable.
func TestGenerateFollowsTheRegistry(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"docs/registry", "internal/attrkey", "tensorconv"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(repository, "docs/registry/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, repository+"/docs/conventions.md", repository+"/docs/entries.schema.json") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(text), "brief: The queue of the device.", "brief: The queue that the device takes it from.")
		relative, err := filepath.Rel(repository, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, relative), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(root); err != nil {
		t.Fatal(err)
	}
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(f.text)); diff != "" {
			t.Errorf("%s: generated again it differs (-first +again):\n%s", f.path, diff)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), "queue that the device takes it from") {
			t.Errorf("%s does not have what was changed", f.path)
		}
	}
}

// The enumerations of the schema are those of the registry.
func TestSchemaEnumerations(t *testing.T) {
	r, err := load(filepath.Join(repository, "docs/registry"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(repository, "docs/entries.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Entry struct {
				Properties map[string]struct {
					Enum  []string `json:"enum"`
					Const string   `json:"const"`
				} `json:"properties"`
			} `json:"entry"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	enumerations := 0
	for _, g := range r.attributeGroups() {
		for _, a := range g.Attributes {
			if len(a.Type.members) == 0 {
				continue
			}
			enumerations++
			p := schema.Defs.Entry.Properties[a.Annotations.Entry]
			var values []string
			for _, m := range a.Type.members {
				values = append(values, m.Value)
			}
			if got := append(p.Enum, strings.Fields(p.Const)...); !slices.Equal(got, values) {
				t.Errorf("%s: the schema has %q, the registry %q", a.ID, got, values)
			}
		}
	}
	if enumerations < 2 {
		t.Errorf("%d enumerations", enumerations)
	}
}

func TestRegistryRules(t *testing.T) {
	const group = "groups:\n- {id: registry.tensor.x, type: attribute_group, brief: The attributes., attributes: ["
	const good = "{id: tensor.x, type: int, stability: development, brief: The x., examples: [1]}"
	for _, tc := range []struct{ text, problem string }{
		{group + good + "]}", ""},
		{group + good + ", " + good + "]}", "tensor.x: there twice"},
		{group + strings.Replace(good, "tensor.x", "Tensor-x", 1) + "]}", "no name of an attribute"},
		{group + strings.Replace(good, "int", "integer", 1) + "]}", `line 2: unknown type "integer"`},
		{group + strings.Replace(good, "int", "{members: []}", 1) + "]}", "without name and members"},
		{group + strings.Replace(good, "The x.", "An x", 1) + "]}", "the brief is no description"},
		{group + strings.Replace(good, "examples: [1]", "sample: [1]", 1) + "]}", "field sample not found"},
		{group + strings.Replace(good, ", examples: [1]", "", 1) + "]}", "no stability, type or examples"},
		{group + "{ref: hw.id, brief: The id.}]}", "hw.id: no type"},
		{
			group + good + "]}\n- {id: span.x, type: span, brief: An x., attributes: [{ref: tensor.y, requirement_level: required}]}",
			`refers to "tensor.y"`,
		},
		{
			group + good + "]}\n- {id: span.x, type: span, brief: An x., attributes: [{ref: tensor.x}]}",
			"tensor.x has no requirement level",
		},
		{
			group + good + "]}\n- {id: span.x, type: span, brief: An x., attributes: [{ref: tensor.x, requirement_level: perhaps}]}",
			`unknown requirement level "perhaps"`,
		},
		{"groups: []\n---\ngroups: []", "more than one document"},
	} {
		r := &registry{byID: make(map[string]*attribute)}
		err := r.read([]byte(tc.text))
		if err == nil {
			err = r.check()
		}
		if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%s\n%v, want %q", tc.text, err, tc.problem)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, tc := range []struct{ old, want string }{
		{"a\n" + beginMark + "old\n" + endMark + "b\n", "a\n" + beginMark + "new\n" + endMark + "b\n"},
		{"a\n", ""},
		{"a\n" + beginMark, ""},
		{beginMark + endMark + beginMark + endMark, ""},
	} {
		got, err := between([]byte(tc.old), "new\n")
		if (err != nil) != (tc.want == "") || string(got) != tc.want {
			t.Errorf("%q: %q, %v", tc.old, got, err)
		}
	}
}
