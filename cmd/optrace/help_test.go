package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/help"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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

func TestVersionOf(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"(unknown)": nil,
		"(devel)":   {},
		"v0.2.0": {Main: debug.Module{Version: "v0.2.0"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1a2b"}}},
		"(devel) 1a2b": {
			Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision",
				Value: "1a2b"}},
		},
	} {
		check.Equal(t, "", want, versionOf(info))
	}
}

// Completion offers words and, in place of files, ":files". The lines and words are in testdata/complete.txt.
func TestComplete(t *testing.T) {
	golden.Lines(t, "testdata/complete.txt", func(line string) string {
		var found []string
		for line := range strings.Lines(succeeds(t, append([]string{"completion", completionWords},
			strings.Split(line, " ")...)...)) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			found = append(found, word)
		}
		return strings.Join(found, " ")
	})
}

// The help text of a command describes every flag, in the table used by shells, and no other flags.
func TestFlagsAreDescribed(t *testing.T) {
	for _, c := range commands() {
		fs := c.flagSet()
		about := flagSummaries(usageOf(c.name))
		fs.VisitAll(func(f *flag.Flag) {
			if about[f.Name] == "" {
				t.Errorf("%s: the help text does not describe -%s", c.name, f.Name)
			}
			delete(about, f.Name)
		})
		for name := range about {
			t.Errorf("%s: the help text describes -%s, which is no flag", c.name, name)
		}
	}
}

// The help text of convert says what each output format keeps.
func TestOutputFormatsAreDescribed(t *testing.T) {
	for _, to := range convert.Targets() {
		if !strings.Contains(usageFile("convert"), "{to "+to.Name+"}\n    keeps ") {
			t.Errorf("the help text does not describe %s", to.Name)
		}
	}
}

// A flag accepts all completed values.
func TestCompletedValuesAreTaken(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range commands() {
		fs := c.flagSet()
		fs.VisitAll(func(f *flag.Flag) {
			for _, line := range c.flagValues(f.Name) {
				value, _, _ := strings.Cut(line, "\t")
				if value == anyFile {
					continue
				}
				if value == "attr:" {
					value += "region"
				}
				args := []string{c.name, "-" + f.Name, value, none, none}
				switch {
				case c.name == "convert" && f.Name == "by" && (value == "root" || value == "operator"):
					continue // needs the structure of the run
				case c.name == "convert" && slices.Contains(flags.SumsNames[:], f.Name):
					args = append(args, "-to", "profile")
				case c.name == "convert" && f.Name != "to":
					args = append(args, "-to", "csv")
				}
				if c.name == "serve" {
					args = append(args[:3], "-for=-1s") // refused before anything is opened
				}
				if _, _, errs := ran(t, args...); !strings.Contains(errs, "no such file") &&
					!strings.Contains(errs, "-for is negative") {
					t.Errorf("%q: %s", args, errs)
				}
			}
		})
	}
}

// The shells complete command lines by their scripts. Missing shells are skipped.
func TestShellsComplete(t *testing.T) {
	cases.NotUnderRace(t, "one process after the other, each with one goroutine")
	dir := t.TempDir()
	self := check.Must(os.Executable())(t)
	if err := os.Symlink(self, filepath.Join(dir, "optrace")); err != nil {
		t.Skip("needs symbolic links: ", err)
	}
	// Each driver loads the script and prints the shell's completions of the last word.
	drivers := map[string]string{
		"bash": `source <(optrace completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
COMP_LINE="$LINE" COMP_POINT=${#COMP_LINE}
_optrace
echo "${COMPREPLY[*]}"`,
		"zsh": `compdef() { :; }
_describe() { print -r -- "${(@)${(@P)2}%%:*}"; }
_files() { print -r -- :files; }
source <(optrace completion zsh)
words=("$@") CURRENT=$#
_optrace
true`,
		"fish": `optrace completion fish | source
complete -C "$LINE" | string replace -r '\t.*' '' | string join ' '
true`,
	}
	// words are Bash's words of the line, "" if other shells split it alike
	lines := []struct{ line, words, want string }{
		{"optrace conv", "", "convert"},
		{"optrace report -section idle,s", "", "idle,summary idle,slowest idle,sequences idle,steps"},
		{"optrace convert -to otlp-", "", "otlp-profiles otlp-profiles-json"},
		{"optrace help exit", "", "exit-codes"},
		{"optrace convert -to=csv -format=ort", "optrace convert -to = csv -format = ort", "ort"},
		{"optrace report -section=", "optrace report -section =", strings.Join(sections, " ")},
		{"optrace report -by attr:x -sect", "optrace report -by attr : x -sect", "-section"},
		{"optrace report  ", "optrace report ", ""},
	}
	for shell, driver := range drivers {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		script := filepath.Join(dir, "driver."+shell)
		check.OK(t, os.WriteFile(script, []byte(driver), 0o600))
		for c := range cases.Of(t, 1, lines) {
			if c.words != "" && shell != "bash" {
				continue
			}
			got := shellCompletes(t, path, script, dir, c.line, strings.Split(cmp.Or(c.words, c.line), " "))
			check.Equal(t, fmt.Sprintf("%s: %q", shell, c.line), sorted(c.want), sorted(got)) // fish sorts
		}
	}
}

func sorted(words string) []string { return slices.Sorted(strings.FieldsSeq(words)) }

// shellCompletes runs the driver of a shell, with the program of this test as optrace.
func shellCompletes(t *testing.T, shell, script, dir, line string, words []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, append([]string{script}, words...)...)
	cmd.Env = append(os.Environ(), "LINE="+line, "HOME="+dir,
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %q: %v: %s", shell, line, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}
