package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// allSamples is why tests over all samples are skipped under the race detector.
const allSamples = "all samples: minutes under the race detector, which goes through readers and analyses in their own tests"

// sampleFiles returns the files below the repository's testdata directories.
func sampleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "fuzz" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(path, "/testdata/"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(cases.Of(t, 10, files))
}

// The JSON form of a report reads back as the same report.
func TestReportReadsBack(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	options := cmp.Options{
		cmp.AllowUnexported(key.Key{}),
		cmpopts.IgnoreFields(op.Entry{}, "KindRule"), // which JSON has for collectives only
	}
	samples := 0
	for _, path := range sampleFiles(t) {
		for _, by := range []string{"", "operation,shape", "device,rank,kind,trace", "step,stream,root,service,attr:region"} {
			keys, err := key.Parse(by)
			if err != nil {
				t.Fatal(err)
			}
			r, err := analyze.Run(t.Context(), ingest.Open(path), analyze.Options{By: keys, MaxGroups: 20, HotspotBytes: -1})
			if err != nil {
				break // no sample of operations
			}
			samples++
			var text, again bytes.Buffer
			if err := output.JSON(&text, r); err != nil {
				t.Fatal(err)
			}
			var back analyze.Report
			if err := json.Unmarshal(text.Bytes(), &back); err != nil {
				t.Errorf("%s by %q: %v", path, by, err)
				continue
			}
			if err := output.JSON(&again, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text.String(), again.String()); diff != "" {
				t.Errorf("%s by %q: JSON (-written +read and written):\n%s", path, by, diff)
			}
			if diff := cmp.Diff(r, &back, options); diff != "" {
				t.Errorf("%s by %q: report (-written +read):\n%s", path, by, diff)
			}
		}
	}
	if samples == 0 || cases.All() && samples < 100 {
		t.Errorf("only %d reports were read back", samples)
	}
}
