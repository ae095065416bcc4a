package kineto_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
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
func TestGolden(t *testing.T) { recordtest.Golden(t, ".json", kineto.Records) }
