package main

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchmath"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/process"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
	"github.com/optrace/optrace/op"
)

// All sides of a comparison agree on a few operations: on every digit of reports, on every byte of
// OTLP, and on DuckDB's counts and sums.
func TestAllSidesAgree(t *testing.T) {
	for _, suite := range []struct {
		name     string
		rare     bool
		measures []measure.Measure
	}{
		{"record", false, record.Suite()}, {"read", false, read.Suite()}, {"process", true, process.Suite()},
	} {
		t.Run(suite.name, func(t *testing.T) {
			if suite.rare {
				cases.Rare(t)
			}
			env := &measure.Env{Trial: true, Cache: t.TempDir(), Optrace: program.Optrace(t, ".."),
				Progress: io.Discard}
			all := suite.measures
			if suite.name == "process" && !linkDuckDB(t, env.Cache) {
				t.Skip("DuckDB is not installed; a run of the comparison installs it")
			}
			for i := range all {
				of := slices.Collect(cases.Of(t, 1, all[i].Cases))
				if of[0].Data == string(workload.Recorded) && !cases.All() {
					of[0] = all[i].Cases[0] // recording takes seconds
				}
				all[i].Cases = of
			}
			rep, err := measure.Run(t.Context(), env, all)
			if err != nil {
				t.Error(err)
			}
			for name, need := range rep.Reasons {
				t.Logf("%s needs %s", name, need)
			}
			for _, r := range rep.Rows {
				if r.OursNS <= 0 || r.PeerNS <= 0 {
					t.Errorf("%s costs %v and %v ns", r.Measure.Name, r.PeerNS, r.OursNS)
				}
			}
			check.Equal(t, "share of our operations that were lost", 0, rep.Values["lost_ours"])
		})
	}
}

// linkDuckDB links an installed DuckDB into a cache, because tests download no programs. It reports
// whether there is one.
func linkDuckDB(t *testing.T, dir string) bool {
	t.Helper()
	installed, err := measure.DefaultCache()
	if err != nil {
		t.Log("no cache of installed programs:", err)
	}
	found, _ := filepath.Glob(filepath.Join(installed, "duckdb-*"))
	for _, path := range found {
		check.OK(t, os.Symlink(path, filepath.Join(dir, filepath.Base(path))))
	}
	return len(found) > 0
}

// Medians and p-values of one operation in several runs equal benchstat's, except for equal values
// in unequal numbers of runs: benchstat then assumes a symmetric distribution of U. The change is
// different by design: benchstat compares medians, and diff takes the median of all pairs' ratios.
func TestDiffAgainstBenchstat(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, rng *rand.Rand) {
		ties := rng.IntN(2) == 0
		var ns [2][]float64
		var runs [2][]*diff.Run
		for side := range ns {
			for range 5 + rng.IntN(16) {
				d := int64(1e6 * math.Exp(0.1*rng.NormFloat64()+0.05*float64(side)))
				if ties {
					d -= d % 1e5
				}
				ns[side] = append(ns[side], float64(d))
				runs[side] = append(runs[side], runOf(t, d))
			}
		}
		r := check.Must(diff.Compare(runs[0], runs[1], diff.Options{}))(t)
		got := &r.Rows[0].Comparison
		base := benchmath.NewSample(ns[0], &benchmath.DefaultThresholds)
		head := benchmath.NewSample(ns[1], &benchmath.DefaultThresholds)
		want := benchmath.AssumeNothing.Compare(base, head)
		if uneven := ties && want.N1 != want.N2; !uneven && math.Abs(got.P.V-want.P) > 1e-9 {
			t.Errorf("seed %d, %d and %d runs, ties %v: p is %v, benchstat's %v", seed, want.N1, want.N2, ties, got.P.V,
				want.P)
		}
		for _, m := range []struct {
			ns     float64
			sample *benchmath.Sample
		}{{got.BaseNS.V, base}, {got.HeadNS.V, head}} {
			if center := benchmath.AssumeNothing.Summary(m.sample, 0.95).Center; math.Abs(m.ns/center-1) > 0.01 {
				t.Errorf("seed %d: the median is %v, benchstat's %v", seed, m.ns, center)
			}
		}
	})
}

func runOf(t *testing.T, ns int64) *diff.Run {
	t.Helper()
	report := check.Must(analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
		yield(op.Record{Entry: &op.Entry{Operation: "op", Duration: ns}}, nil)
	}), diff.ReportOptions(nil)))(t)
	return check.Must(diff.NewRun("run", report, nil, false))(t)
}

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
