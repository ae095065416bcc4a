package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/termtext"
)

// recordedSamples returns the recorded traces outside the repository, without damaged ones. It skips a test without
// them.
func recordedSamples(t *testing.T) []string {
	t.Helper()
	damaged := func(path string) bool { return strings.Contains(path, "/faults/") }
	files := slices.DeleteFunc(filesBelow(t, recorded, ""), damaged)
	if len(files) == 0 {
		t.Skip("needs the recorded samples")
	}
	return files
}

// figuresOf returns a report in JSON, nil for a file that is no input.
func figuresOf(t *testing.T, path string, args ...string) (figures map[string]any) {
	t.Helper()
	code, out, _ := ran(t, append([]string{"report", "-json", path}, args...)...)
	if code != exit.OK || json.Unmarshal([]byte(out), &figures) != nil {
		return nil
	}
	return figures
}

// Reports on recorded samples have operations with durations, and findings: 73 of 137 files on 27 November 2026. A
// section that is asked for alone has the figures of the whole report, as far as it has them.
func TestSamplesHaveFigures(t *testing.T) {
	const least = 73
	files := recordedSamples(t)
	alone := slices.Collect(cases.Of(t, 5, files))
	var held atomic.Int64
	t.Cleanup(func() {
		if n := held.Load(); n < least {
			t.Errorf("%d samples have figures, at least %d had", n, least)
		}
	})
	for _, path := range files {
		t.Run(strings.TrimPrefix(path, recorded), func(t *testing.T) {
			t.Parallel()
			whole := figuresOf(t, path)
			if whole == nil {
				return
			}
			operations, _ := whole["operations"].([]any)
			findings, _ := whole["findings"].([]any)
			if slices.ContainsFunc(operations, func(o any) bool { return o.(map[string]any)["sum_ns"].(float64) > 0 }) {
				held.Add(1)
				if len(findings) == 0 {
					t.Error("no findings")
				}
			}
			if !slices.Contains(alone, path) {
				return
			}
			for _, section := range sections {
				part := figuresOf(t, path, "-section", section)
				check.Equal(t, "-section "+section, "", differs(part, whole))
				check.Equal(t, "-section "+section+" is complete", whole[section], part[section])
			}
		})
	}
}

// differs returns the place of a figure that is another one than in the whole, "" for none. What is null, empty or not
// there was not asked for.
func differs(part, whole any) string {
	switch part := part.(type) {
	case nil:
		return ""
	case map[string]any:
		whole, _ := whole.(map[string]any)
		for key, value := range part {
			if at := differs(value, whole[key]); at != "" {
				return key + "." + at
			}
		}
		return ""
	case []any:
		whole, _ := whole.([]any)
		if len(part) > 0 && len(part) != len(whole) {
			return fmt.Sprintf("%d rows of %d", len(part), len(whole))
		}
		for i := range part {
			if at := differs(part[i], whole[i]); at != "" {
				return fmt.Sprintf("%d.%s", i, at)
			}
		}
		return ""
	}
	if part != whole {
		return fmt.Sprintf("%v, %v in the whole", part, whole)
	}
	return ""
}

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

// recorded holds recorded traces outside the repository.
const recorded = "../../../shared/data"

// For any input, no line is wider than the text.
func TestNothingWraps(t *testing.T) {
	files := map[string][]int{}
	for folder, widths := range map[string][]int{"testdata": {60, 80, 200}, "../../ingest/kineto/testdata": {80}} {
		for _, path := range slices.Concat(filesBelow(t, folder, ".json"), filesBelow(t, folder, ".pb")) {
			files[path] = widths
		}
	}
	if len(files) < 20 {
		t.Errorf("%d files", len(files))
	}
	for path := range cases.Of(t, 15, filesBelow(t, recorded, "")) {
		files[path] = []int{80}
	}
	for path, widths := range files {
		t.Run(strings.TrimPrefix(path, "../../"), func(t *testing.T) {
			t.Parallel()
			for _, width := range widths {
				for _, command := range []string{"report", "report -by operation,device,shape", "correlate"} {
					checkWidth(t, width, append(strings.Fields(command), "-width", strconv.Itoa(width), path))
				}
			}
		})
	}
}

// checkWidth runs a command and checks the width of its lines. It skips refused inputs.
func checkWidth(t *testing.T, width int, args []string) {
	t.Helper()
	code, out, errs := ran(t, args...)
	if code != exit.OK {
		t.Logf("exit code %d: %s", code, errs)
		return
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if w := termtext.Width(line); w > width {
			t.Errorf("%s: a line of %d columns: %q", args, w, line)
		}
		if strings.HasSuffix(line, " ") || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%s: blanks at the end or control characters: %q", args, line)
		}
	}
}

// Doctor on real recordings and on the samples of this repository.
func TestDoctorSamples(t *testing.T) {
	for name, path := range map[string]string{
		"ops":         "testdata/ops.jsonl",
		"requests":    "testdata/requests.jsonl",
		"seed":        "testdata/figures/14_seed.json",
		"links":       "testdata/figures/16_links.otlp.json",
		"kineto_rocm": recorded + "/kineto/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
		"kineto_nccl": recorded + "/kineto/nccl_data.json.gz",
		"collector":   recorded + "/collector/gate_off/traces.pb.zst",
		"jaeger":      recorded + "/jaeger/v1.76/search.v1.json",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(path); err != nil && strings.HasPrefix(path, recorded) {
				t.Skipf("needs the recorded traces in %s", recorded)
			}
			golden.Check(t, filepath.Join("testdata", "doctor", name+".txt"),
				succeeds(t, "doctor", "-width", "120", path))
		})
	}
}

// The figures named by a finding are keys of the reports.
func TestDoctorNamesFigures(t *testing.T) {
	keys := make(map[string]bool)
	for _, k := range help.Keys(reflect.TypeFor[analyze.Report]()) {
		keys[k.Path] = true
	}
	for _, k := range help.Keys(reflect.TypeFor[correlate.Report]()) {
		keys["correlate "+strings.TrimPrefix(k.Path, ".")] = true
	}
	for _, f := range doctor.New().Report(analyze.Envelope{}).Findings {
		for _, figure := range f.Figures {
			if !keys[figure] && !keys["."+figure] && !keys["."+figure+"[]"] {
				t.Errorf("%s: no report has %s", f.Name, figure)
			}
		}
	}
}
