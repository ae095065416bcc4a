package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMeasures(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measures() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Limit == "" || len(m.Cases) == 0 {
			t.Errorf("%s is not described", m.Name)
		}
		for _, c := range m.Cases {
			if c.Suite == nil || c.Peer == "" || c.Ours == "" || c.Suite.Unit == "" || c.Data == "" && len(m.Cases) > 1 {
				t.Errorf("%s, %q is not described", m.Name, c.Data)
			}
			if c.Suite.QuickRounds == 0 || c.Suite.Rounds == 0 {
				t.Errorf("%s has no rounds, or none in a quick run", m.Name)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	all := []measure.Measure{{Name: "a", Target: 1}, {Name: "b"}, {Name: "c"}}
	for _, tt := range []struct {
		only string
		want []string
	}{
		{"", []string{"a", "b", "c"}},
		{"b, a", []string{"a", "b"}},
		{"x", nil},
	} {
		chosen, err := choose(slices.Clone(all), tt.only)
		var got []string
		for _, m := range chosen {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("only %q: %v, %v; want %v", tt.only, got, err, tt.want)
		}
	}
}

// The table of the ways to record has a row with figures for each, and replaces that of a document.
func TestWays(t *testing.T) {
	document := filepath.Join(t.TempDir(), "recording.md")
	check.OK(t, os.WriteFile(document, []byte("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n"), 0o600))
	var stdout, stderr bytes.Buffer
	check.OK(t, run(t.Context(), &measure.Env{Trial: true, Progress: &stderr}, []string{"-ways", "-update", document}, &stdout))
	rows := regexp.MustCompile(`(?m)^\| .*\| \d+\.\d\d µs \| \d+ B \| \d+ \| \d+\.\d\d \| \d+\.\d\d µs \| \d+ B \| \d+ \| \d+\.\d\d \|$`)
	if n := len(rows.FindAllString(stdout.String(), -1)); n != 8 {
		t.Errorf("%d rows:\n%s", n, &stdout)
	}
	text := string(check.Must(os.ReadFile(document))(t))
	if !strings.Contains(text, stdout.String()) || strings.Contains(text, "old") || !strings.HasSuffix(text, "\nbehind\n") {
		t.Errorf("the document is %s", text)
	}
}

func TestRun(t *testing.T) {
	var stdout, stderr bytes.Buffer
	profile := filepath.Join(t.TempDir(), "cpu")
	args := []string{"-quick", "-json", "-only", "recorder_vs_sdk", "-cpuprofile", profile}
	check.OK(t, run(t.Context(), &measure.Env{Trial: true, Cache: t.TempDir(), Progress: &stderr}, args, &stdout))
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Errorf("the profile: %v", err)
	}
	var out struct {
		Ratios map[string]float64 `json:"ratios"`
		NotRun []string           `json:"not_run"`
	}
	dec := json.NewDecoder(&stdout)
	if err := dec.Decode(&out); err != nil || dec.More() {
		t.Fatalf("standard output is not one JSON object: %v", err)
	}
	if out.Ratios["recorder_vs_sdk"] <= 0 || len(out.Ratios) != 1 || out.NotRun == nil {
		t.Errorf("%+v", out)
	}
	if !strings.Contains(stderr.String(), "recording") {
		t.Errorf("no progress in %q", stderr.String())
	}
}

func TestRunErrors(t *testing.T) {
	for _, args := range [][]string{{"-no-such-flag"}, {"argument"}, {"-only", "no_such_comparison"}, {"-update", "no/such/file"}} {
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), &measure.Env{Trial: true, Cache: t.TempDir(), Progress: &stderr}, args, &stdout); err == nil ||
			stdout.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, stdout.String())
		}
	}
}

// The table in the documentation has all comparisons, with their limits, and the text
// explains each of them.
func TestDocumentedTable(t *testing.T) {
	const path = "../docs/performance.md"
	text := check.Must(os.ReadFile(path))(t)
	before, rest, _ := strings.Cut(string(text), "<!-- table -->")
	table, behind, _ := strings.Cut(rest, "<!-- end of table -->")
	prose := before + behind
	for _, m := range measures() {
		_, row, found := strings.Cut(table, "\n| "+m.Name+" |")
		row, _, _ = strings.Cut(row, "\n")
		notRun := strings.Contains(table, "\n- "+m.Name+" was **not run**")
		if !found && !notRun || found && !strings.HasSuffix(row, "| "+m.Limit+" |") {
			t.Errorf("the table has no row of %s that ends with %q", m.Name, m.Limit)
		}
		if !strings.Contains(prose, "`"+m.Name+"`") {
			t.Errorf("%s is not explained", m.Name)
		}
	}
}
