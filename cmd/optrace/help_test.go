package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/internal/testing/check"
)

// The help text lists every key of a report in JSON, with the right type.
func TestJSONHelpIsComplete(t *testing.T) {
	lines := map[string][]string{
		analyze.Schema: {
			"report -json -by operation,device -peaks nvidia-h100-sxm testdata/requests.jsonl",
			"report -json testdata/ops.jsonl",
		},
		"optrace.correlate/v1": {"correlate -json testdata/requests.jsonl"},
		"optrace.diff/v1":      {"diff -json testdata/base.jsonl testdata/head.jsonl"},
		"optrace.doctor/v1":    {"doctor -json testdata/ops.jsonl"},
		"optrace.whatif/v1":    {"whatif -json testdata/requests.jsonl"},
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
	if _, at, ok := strings.Cut(text, help.AsKeys); ok {
		path = at
	}
	kind := ""
	switch v := value.(type) {
	case map[string]any:
		if kind = "object"; strings.HasPrefix(text, "entry") || strings.HasPrefix(text, "object, ") {
			return // its keys are described elsewhere
		}
		for key, below := range v {
			at := path + "." + key
			if path != "" && !known { // a map
				at = path + "[KEY]"
			}
			checkJSON(t, about, at, below)
		}
	case []any:
		if kind = "array"; !known {
			for _, element := range v {
				checkJSON(t, about, path+"[]", element)
			}
		}
	case string:
		kind = "string"
	case float64:
		kind = "integer"
	case bool:
		kind = "true"
	}
	isContainer := !known && (kind == "object" || kind == "array")
	if !isContainer && text != "any value" && !strings.Contains(text, kind) &&
		!(kind == "integer" && strings.HasPrefix(text, "number")) {
		t.Errorf("%s is %v, and described as %q", path, value, text)
	}
}
