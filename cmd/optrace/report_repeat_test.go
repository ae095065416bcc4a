package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// A file that is given twice makes the report that it makes once, but for the
// description of the input, where all of its operations have ids.
func TestReportOfRepeatedFile(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	options := cmp.Options{cmp.AllowUnexported(key.Key{}), cmpopts.IgnoreFields(analyze.Report{}, "Input")}
	samples := 0
	for _, path := range sampleFiles(t) {
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
			keys, err := key.Parse(by)
			if err != nil {
				t.Fatal(err)
			}
			opts := analyze.Options{By: keys, HotspotBytes: -1}
			once, err := analyze.Run(t.Context(), ingest.Open(path), opts)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := analyze.Run(t.Context(), ingest.Open(path, path), opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(once, twice, options); diff != "" {
				t.Errorf("%s by %q (-once +twice):\n%s", path, by, diff)
			}
			if want := once.Input.Repeated.V + records; twice.Input.Repeated != op.Known(want) {
				t.Errorf("%s: %v repeated, want %d", path, twice.Input.Repeated, want)
			}
		}
	}
	if samples == 0 || cases.All() && samples < 20 {
		t.Errorf("only %d files were reported on twice", samples)
	}
}
