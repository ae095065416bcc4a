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

// must returns a function that returns v, or ends the test if there is an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// The generated files are what the registry says. A change in the registry changes every one of them, and they are then
// stable.
func TestGenerated(t *testing.T) {
	r := must(load(filepath.Join(repository, "docs/registry")))(t)
	for _, f := range files {
		text := must(os.ReadFile(filepath.Join(repository, f.path)))(t)
		generate := func(old string) string { return string(must(f.generate(r, []byte(old)))(t)) }
		if diff := cmp.Diff(string(text), generate(string(text))); diff != "" {
			t.Errorf("%s is not up to date, run go generate ./tensorconv (-file +registry):\n%s", f.path, diff)
		}
		a := r.groups[0].Attributes[0]
		before := *a
		a.ID, a.Brief = "changed", "The name that was changed."
		changed := generate(string(text))
		if !strings.Contains(changed, "name that was changed") && !strings.Contains(changed, `"changed"`) || changed != generate(changed) {
			t.Errorf("%s does not follow the registry, or changes again", f.path)
		}
		*a = before
	}
}

// The enumerations of the schema are those of the registry.
func TestSchemaEnumerations(t *testing.T) {
	r := must(load(filepath.Join(repository, "docs/registry")))(t)
	text := must(os.ReadFile(filepath.Join(repository, "docs/entries.schema.json")))(t)
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
	for _, g := range r.groups {
		for _, a := range g.Attributes {
			if len(a.Type.values) == 0 {
				continue
			}
			enumerations++
			p := schema.Defs.Entry.Properties[a.Annotations.Entry]
			if got := append(p.Enum, strings.Fields(p.Const)...); !slices.Equal(got, a.Type.values) {
				t.Errorf("%s: the schema has %q, the registry %q", a.ID, got, a.Type.values)
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
		groups, err := read([]byte(tc.text))
		if err == nil {
			err = newRegistry(groups).check()
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
