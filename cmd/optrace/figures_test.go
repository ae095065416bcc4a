package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
)

// TestFigures compares the figures of small inputs with figures worked out by hand. Each file F.want in
// testdata/figures is about the input F.*: command lines, each followed by its expected output. IN is the input and OUT
// a new file.
//
//	# a comment
//	$ report -json IN
//	communication.collectives[0].repeats = 1
//	len(devices) = 2
//	$ report IN
//	contains "2 repeated"
//	lacks "unknown"
func TestFigures(t *testing.T) {
	wants, err := filepath.Glob("testdata/figures/*.want")
	if err != nil || len(wants) == 0 {
		t.Fatalf("no files: %v", err)
	}
	inputs, err := filepath.Glob("testdata/figures/*.json*")
	if err != nil || len(inputs) != len(wants) {
		t.Errorf("%d inputs and %d files about them, error %v", len(inputs), len(wants), err)
	}
	for _, want := range wants {
		name := strings.TrimSuffix(filepath.Base(want), ".want")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs, err := filepath.Glob("testdata/figures/" + name + ".*json*")
			if err != nil || len(inputs) != 1 {
				t.Fatalf("inputs %q, error %v", inputs, err)
			}
			checkWanted(t, want, strings.NewReplacer("IN", inputs[0], "OUT", filepath.Join(t.TempDir(), "out")))
		})
	}
}

// checkWanted runs the commands of a file and checks their output.
func checkWanted(t *testing.T, file string, names *strings.Replacer) {
	t.Helper()
	text := check.Must(os.ReadFile(file))(t)
	var output string
	checks := 0
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := file + ":" + strconv.Itoa(i+1)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			output = succeeds(t, strings.Fields(names.Replace(command))...)
			continue
		}
		checks++
		check.Equal(t, fmt.Sprintf("%s: %s", at, line), "", checkOutput(output, line))
	}
	if checks == 0 {
		t.Errorf("%s checks nothing", file)
	}
}

// checkOutput returns the fault of an output, "" without one.
func checkOutput(output, line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "contains", "lacks":
		text, err := strconv.Unquote(rest)
		if err != nil {
			return err.Error()
		}
		if strings.Contains(output, text) != (verb == "contains") {
			return "the output is\n" + output
		}
		return ""
	}
	path, value, ok := strings.Cut(line, " = ")
	if !ok {
		return "no check"
	}
	var report, want any
	if err := json.Unmarshal([]byte(output), &report); err != nil {
		return "the output is no JSON: " + err.Error()
	}
	if err := json.Unmarshal([]byte(value), &want); err != nil {
		return "the value is no JSON: " + err.Error()
	}
	values := make(map[string]any)
	addValues(values, "", report)
	got, ok := values[path]
	if !ok {
		return "no such value"
	}
	return cmp.Diff(want, got)
}

// addValues adds the values of JSON by path, such as "devices[0].busy_ns", and the length of a list as "len(devices)".
func addValues(values map[string]any, path string, v any) {
	values[path] = v
	switch v := v.(type) {
	case []any:
		values["len("+path+")"] = float64(len(v))
		for i, element := range v {
			addValues(values, fmt.Sprintf("%s[%d]", path, i), element)
		}
	case map[string]any:
		for key, member := range v {
			addValues(values, strings.TrimPrefix(path+"."+key, "."), member)
		}
	}
}
