package duckdb

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/bench/internal/cache"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/program"
)

func TestParseReport(t *testing.T) {
	rows, err := parseReport([]byte(`{
		"operations": [{"operation": "relu", "count": 2, "sum_ns": 30, "min_ns": 10, "max_ns": 20, "p50_ns": 10, "p95_ns": 20, "p99_ns": 20}],
		"groups": [{"key": {"device": "cuda:0"}, "count": 1, "sum_ns": 5, "min_ns": 5, "max_ns": 5, "p50_ns": 5, "p95_ns": 5, "p99_ns": 5}]}`))
	want := []row{
		{"operation relu", 2, 30, 10, 20, []float64{10, 20, 20}},
		{"device cuda:0", 1, 5, 5, 5, []float64{5, 5, 5}},
	}
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	if _, err := parseReport([]byte("optrace: broken")); err == nil {
		t.Error("no JSON is no error")
	}
}

func TestDigest(t *testing.T) {
	a := row{"operation a", 1, 2, 2, 2, nil}
	b := row{"device b", 1, 2, 2, 2, []float64{1}}
	if digest([]row{a, b}) != digest([]row{b, a}) {
		t.Error("the order of the rows matters")
	}
	other := b
	other.Max++
	if digest([]row{a, b}) == digest([]row{a, other}) {
		t.Error("another maximum does not matter")
	}
}

func TestSamePercentiles(t *testing.T) {
	of := func(count, p float64) []row { return []row{{"operation a", count, 0, 0, 0, []float64{p, 100, 100}}} }
	for _, tt := range []struct {
		name  string
		a, b  []row
		equal bool
	}{
		{"equal", of(5000, 100), of(5000, 100), true},
		{"within 2 %", of(5000, 100), of(5000, 101.9), true},
		{"beyond", of(5000, 100), of(5000, 103), false},
		{"of few", of(10, 100), of(10, 103), true},
		{"none", of(5000, 100), []row{{Name: "operation a", Count: 5000}}, false},
		{"another row", of(5000, 100), []row{{Name: "operation b", Count: 5000, Percentiles: []float64{1, 1, 1}}}, false},
	} {
		if err := samePercentiles(tt.a, tt.b); (err == nil) != tt.equal {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The command and DuckDB answer the same, where DuckDB has been installed by a
// run of the comparison: tests download nothing.
func TestAnswersAgree(t *testing.T) {
	cases.Rare(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no Node.js")
	}
	installed, err := cache.Default()
	if err != nil {
		t.Skip("no cache of installed programs:", err)
	}
	dir := filepath.Join(installed, duckDBName())
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("DuckDB is not installed")
	}
	db := &duckDB{node, dir}
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	command := program.Optrace(t, "../..")
	for f, statements := range map[workload.Format]map[string]func(string) string{
		workload.Entries:  {duck: entriesSQL, duckStart: nil},
		workload.OTLPJSON: {duck: otlpSQL, duckTuned: tunedOTLPSQL},
	} {
		file, err := workload.Get(t.Context(), env, f, workload.Config{Ops: 2000, Kind: workload.G512})
		if err != nil {
			t.Fatal(err)
		}
		open := newSides(db, command, file, statements)
		sums := map[string]string{}
		for name, side := range open.Sides {
			s, err := side(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sums[name] = s.Sum
			if s.Wall <= 0 || s.CPU <= 0 {
				t.Errorf("%s, %s: %+v", f, name, s)
			}
		}
		for name := range statements {
			if name != duckStart && sums[name] != sums[ours] {
				t.Errorf("%s, %s: %s, but optrace %s", f, name, sums[name], sums[ours])
			}
		}
		if err := open.Check(); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
