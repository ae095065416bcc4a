package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/bench/process"
	"github.com/optrace/optrace/bench/read"
	"github.com/optrace/optrace/bench/record"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
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
