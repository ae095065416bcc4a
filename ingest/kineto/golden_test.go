package kineto_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/op"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcript returns what a trace reads as, a line per record.
func transcript(t testing.TB, text []byte, m *op.Mapping) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range kineto.Records(bytes.NewReader(text), "trace", m) {
		switch {
		case err != nil:
			fmt.Fprintln(&b, "error:", err)
		case rec.Entry != nil:
			if err := rec.Entry.Validate(); err != nil {
				t.Errorf("invalid entry %s: %v", rec.Entry.AppendJSON(nil), err)
			}
			fmt.Fprintf(&b, "%s\n", rec.Entry.AppendJSON(nil))
		case rec.Span != nil:
			fmt.Fprintf(&b, "%s\n", rec.Span.AppendJSON(nil))
		case rec.Resource != nil:
			fmt.Fprintf(&b, "%s\n", op.AppendHeader(nil, rec.Resource))
		default:
			fmt.Fprintf(&b, "skipped %s: %d\n", rec.Skipped.Reason, rec.Skipped.N)
		}
	}
	return b.String()
}

// TestGolden reads each trace in testdata:
//
//	train.json           what a training run has: fractional times, launches
//	                     before and behind their kernels, nested operators,
//	                     overlapping streams, collectives; rank and time base
//	                     behind the events
//	rocm.json            AMD's calls, without a rank
//	first_versions.json  capitalised categories in a bare array; external ids
//	                     that repeat the correlation id
//	plain.json           no categories of Kineto: spans with ids, begin and end
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := transcript(t, text, nil)
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
