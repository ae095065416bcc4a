package ingest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
)

// TestDetectsSamples reads a sample of each format whose reader keeps some.
func TestDetectsSamples(t *testing.T) {
	for _, test := range []struct {
		path, format string
		entries      int
	}{
		{"kineto/testdata/train.json", "chrome", 10},
		{"kineto/testdata/first_versions.json", "chrome", 4},
		{"kineto/testdata/plain.json", "chrome", 2},
		{"perfetto/testdata/kineto.pftrace", "perfetto", 4},
		{"ort/testdata/squeeze.json", "ort", 5},
		{"jaeger/testdata/v1.76.trace.json", "jaeger-v1", 7},
		{"jaeger/testdata/v2.20.search.json", "jaeger-v1", 21},
		{"jaeger/testdata/edge.json", "jaeger-v1", 0},
		{"stdouttrace/testdata/spans.jsonl", "stdouttrace", 14},
		{"stdouttrace/testdata/spans.pretty.json", "stdouttrace", 7},
	} {
		t.Run(test.path, func(t *testing.T) {
			in := ingest.Open(test.path)
			names, bad, err := read(in)
			if err != nil || len(bad) > 0 {
				t.Fatalf("err = %v, bad = %q", err, bad)
			}
			if diff := cmp.Diff([]string{test.format}, in.Stats().Formats); diff != "" || len(names) != test.entries {
				t.Errorf("%d operations, want %d; formats (-want +got):\n%s", len(names), test.entries, diff)
			}
		})
	}
}
