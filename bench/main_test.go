package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMeasuresAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measures() {
		if seen[m.Name] || m.Limit == "" || m.Target == 0 || len(m.Cases) == 0 {
			t.Errorf("%s is a duplicate or not described", m.Name)
		}
		seen[m.Name] = true
		for _, c := range m.Cases {
			s := c.Suite
			if c.Peer == "" || c.Ours == "" || c.Data == "" || s.Unit == "" || s.QuickRounds == 0 || s.Rounds == 0 {
				t.Errorf("%s, %q is not described", m.Name, c.Data)
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

func TestWaysReplacesTheTableOfADocument(t *testing.T) {
	document := filepath.Join(t.TempDir(), "recording.md")
	check.OK(t, os.WriteFile(document, []byte("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n"), 0o600))
	var stdout bytes.Buffer
	env := &measure.Env{Trial: true, Progress: io.Discard}
	check.OK(t, run(t.Context(), env, []string{"-ways", "-update", document}, &stdout))
	const costs = ` \d+\.\d\d µs \| \d+ B \| \d+ \| \d+\.\d\d \|`
	rows := regexp.MustCompile(`(?m)^\| .*\|` + costs + costs + `$`)
	if n := len(rows.FindAllString(stdout.String(), -1)); n != 8 {
		t.Errorf("%d rows:\n%s", n, &stdout)
	}
	text := string(check.Must(os.ReadFile(document))(t))
	if !strings.Contains(text, stdout.String()) || strings.Contains(text, "old") ||
		!strings.HasSuffix(text, "\nbehind\n") {
		t.Errorf("the document is %s", text)
	}
}

func TestOnlyRunsTheChosenComparison(t *testing.T) {
	var stdout, stderr bytes.Buffer
	env := &measure.Env{Trial: true, Cache: t.TempDir(), Progress: &stderr}
	check.OK(t, run(t.Context(), env, []string{"-quick", "-only", "export_vs_otlp"}, &stdout))
	if out := stdout.String(); strings.Count(out, "_vs_") != 1 || !strings.Contains(out, "| export_vs_otlp |") {
		t.Errorf("the table is %s", out)
	}
	if !strings.Contains(stderr.String(), "exporting") {
		t.Errorf("no progress in %q", stderr.String())
	}
}

func TestWrongArguments(t *testing.T) {
	env := &measure.Env{Trial: true, Cache: t.TempDir(), Progress: io.Discard}
	for _, args := range [][]string{
		{"-no-such-flag"}, {"argument"}, {"-only", "no_such_comparison"}, {"-update", "no/such/file"},
	} {
		var stdout bytes.Buffer
		if err := run(t.Context(), env, args, &stdout); err == nil || stdout.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, stdout.String())
		}
	}
}

// The table in the documentation has all comparisons with their limits, and the text explains each.
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
