package stdouttrace_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
)

// FuzzRecords checks that no input makes the reader panic, that the entries it
// makes are valid, and that they read back from JSON Lines as they were.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(operation(`,"Status":{"Code":"Error"},"Resource":[{"Key":"k","Value":{"Type":"SLICE","Value":[{"Value":1}]}}]`,
		`,{"Key":"tensor.input.shapes","Value":{"Type":"SLICE","Value":[{"Type":"INT64SLICE","Value":[2]},{"Type":"MAP","Value":{}}]}}`)))
	f.Add([]byte("{\n\t\"Name\": \"x\"\n}\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, stdouttrace.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

func BenchmarkRecords(b *testing.B) {
	one := check.Must(os.ReadFile("testdata/spans.jsonl"))(b)
	const copies = 100
	text := bytes.Repeat(one, copies)
	recordtest.Benchmark(b, text, 14*copies, stdouttrace.Records)
}
