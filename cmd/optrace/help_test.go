package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/internal/check"
)

// Every key of a report in JSON is in the help text, and nothing that is described as a
// number or a text is something else.
func TestJSONHelpIsComplete(t *testing.T) {
	lines := map[string][]string{
		analyze.Schema: {
			"report -json -by operation,device -peaks nvidia-h100-sxm testdata/requests.jsonl", "report -json testdata/ops.jsonl",
		},
		"optrace.correlate/v1": {"correlate -json testdata/requests.jsonl"},
		"optrace.diff/v1":      {"diff -json testdata/base.jsonl testdata/head.jsonl"},
		"optrace.doctor/v1":    {"doctor -json testdata/ops.jsonl"},
	}
	for _, out := range help.Outputs() {
		about := make(map[string]string)
		for _, k := range help.Keys(out.Report) {
			about[k.Path] = k.About
		}
		if len(lines[out.Schema]) == 0 {
			t.Errorf("%s: no example", out.Schema)
		}
		for _, line := range lines[out.Schema] {
			var report any
			check.OK(t, json.Unmarshal([]byte(succeeds(t, strings.Fields(line)...)), &report))
			checkJSON(t, about, "", report)
		}
	}
}

// checkJSON compares a value with the description of its key.
func checkJSON(t *testing.T, about map[string]string, path string, value any) {
	t.Helper()
	text, known := about[path]
	switch v := value.(type) {
	case map[string]any:
		if known && !strings.HasPrefix(text, "object") {
			if text != "entry" && text != "entry?" {
				t.Errorf("%s is an object, not %s", path, text)
			}
			return
		}
		if _, at, ok := strings.Cut(text, help.AsKeys); ok {
			path, text = at, ""
		}
		for key, below := range v {
			if _, ok := about[path+"."+key]; !ok && strings.HasPrefix(text, "object, ") {
				continue
			}
			below, at := element(about, path+"."+key, below)
			for _, b := range below {
				checkJSON(t, about, at, b)
			}
		}
	case nil:
	default:
		if text == "any value" {
			return
		}
		kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Float64: "integer", reflect.Bool: "true", reflect.Slice: "array"}
		kind := kinds[reflect.TypeOf(value).Kind()]
		if !strings.Contains(text, kind) && !(kind == "integer" && strings.HasPrefix(text, "number")) {
			t.Errorf("%s is %v, and described as %q", path, value, text)
		}
	}
}

// element returns the values that the help text describes for a key, those in lists and
// maps, with the path that it has for them.
func element(about map[string]string, path string, value any) ([]any, string) {
	for {
		if _, ok := about[path]; ok {
			return []any{value}, path
		}
		switch v := value.(type) {
		case []any:
			path += "[]"
			if len(v) == 0 {
				return nil, path
			}
			if _, ok := about[path]; ok {
				return v, path
			}
			value = v[0]
		case map[string]any:
			path += "[KEY]"
			return slices.Collect(maps.Values(v)), path
		case nil:
			return nil, path // an optional list
		default:
			return []any{value}, path
		}
	}
}
