package kineto_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op/attr"
)

// transcript returns the records of a trace, a line each.
func transcript(t testing.TB, text []byte, m *attr.Mapping) string {
	t.Helper()
	return recordtest.Transcript(t, kineto.Records(bytes.NewReader(text), "trace", m))
}

// TestGolden reads each trace in testdata:
//
//	train.json           events of a training run: fractional times, launches
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
			golden.Check(t, strings.TrimSuffix(file, ".json")+".golden", got)
		})
	}
}
