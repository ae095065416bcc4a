package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// allSamples is why tests over all samples are skipped under the race detector.
const allSamples = "all samples: minutes under the race detector, which goes through readers and analyses in their own tests"

// filesBelow returns the files below a folder, none if it is not there, whose paths have a part.
func filesBelow(t *testing.T, folder, part string) (files []string) {
	t.Helper()
	check.OK(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == folder:
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "fuzz" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(path, part):
			files = append(files, path)
		}
		return nil
	}))
	return files
}

// A file that is given twice makes the report that it makes once, but for the
// description of the input, where all of its operations have ids.
func TestReportOfRepeatedFile(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	ofInput := func(f findings.Finding) bool { return f.Kind == findings.NotUnderstood || f.Kind == findings.Lost }
	options := cmp.Options{
		cmp.AllowUnexported(key.Key{}), cmpopts.IgnoreFields(analyze.Report{}, "Input"), cmpopts.IgnoreSliceElements(ofInput),
	}
	samples := 0
	for path := range cases.Of(t, 10, filesBelow(t, "../..", "/testdata/")) {
		records, ids := int64(0), true
		env, err := analyze.Read(t.Context(), ingest.Open(path), func(rec op.Record) {
			switch {
			case rec.Entry != nil:
				records++
				ids = ids && !rec.Entry.TraceID.IsZero() && !rec.Entry.SpanID.IsZero()
			case rec.Span != nil && !rec.Span.TraceID.IsZero() && !rec.Span.SpanID.IsZero():
				records++
			}
		})
		if err != nil || !ids || env.Entries == 0 {
			continue
		}
		samples++
		for _, by := range []string{"", "operation,shape", "root,step,stream", "service,device,kind"} {
			keys := check.Must(key.Parse(by))(t)
			opts := analyze.Options{By: keys, HotspotBytes: -1}
			once := check.Must(analyze.Run(t.Context(), ingest.Open(path), opts))(t)
			twice := check.Must(analyze.Run(t.Context(), ingest.Open(path, path), opts))(t)
			check.Equal(t, fmt.Sprintf("%s by %q: twice against once", path, by), once, twice, options)
			if want := once.Input.Repeated.V + records; twice.Input.Repeated != op.Known(want) {
				t.Errorf("%s: %v repeated, want %d", path, twice.Input.Repeated, want)
			}
		}
	}
	if samples == 0 || cases.All() && samples < 20 {
		t.Errorf("only %d files were reported on twice", samples)
	}
}
