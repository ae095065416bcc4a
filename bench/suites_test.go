package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/process"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
	"github.com/optrace/optrace/bench/seed"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
)

// All sides of the comparisons run on few operations and come to the same: reports in
// every digit, OTLP in every byte, counts and sums of DuckDB, Python and Rust.
func TestSuites(t *testing.T) {
	for _, suite := range []struct {
		name     string
		rare     bool
		measures []measure.Measure
	}{
		{"record", false, record.Suite()}, {"read", false, read.Suite()}, {"process", true, process.Suite()}, {"seed", true, seed.Suite()},
	} {
		t.Run(suite.name, func(t *testing.T) {
			if suite.rare {
				cases.Rare(t)
			}
			env := &measure.Env{Trial: true, Cache: t.TempDir(), Optrace: program.Optrace(t, ".."), Progress: io.Discard}
			all := suite.measures
			if suite.name == "process" && !linkDuckDB(t, env.Cache) {
				all = slices.DeleteFunc(all, func(m measure.Measure) bool { return strings.Contains(m.Name, "duckdb") })
			}
			for i := range all {
				of := slices.Collect(cases.Of(t, 1, all[i].Cases))
				if of[0].Data == string(workload.Recorded) && !cases.All() {
					of[0] = all[i].Cases[0] // what is recorded takes seconds to make
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
			check.Equal(t, "of our operations got lost", 0, rep.Values["lost_ours"])
		})
	}
}

// linkDuckDB puts DuckDB into a cache where a run of the comparison has installed it:
// tests download nothing.
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
