package jaeger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
)

// FuzzRecords checks that no input makes the reader panic, that the entries it
// makes are valid, and that they read back from JSON Lines as they were.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(answer(`{` + ids + `,"references":[{"refType":"CHILD_OF"}],"tags":[{"key":"op","value":"x"},{"key":"output_shape",` +
		`"value":"[2,3]"},{"key":"error","value":true}]}`)))
	f.Add([]byte(`{"data":null,"errors":[{"msg":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, jaeger.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

func BenchmarkRecords(b *testing.B) {
	one := check.Must(os.ReadFile(filepath.Join("testdata", "v2.20.search.json")))(b)
	const answers = 100
	text := bytes.Repeat(one, answers)
	recordtest.Benchmark(b, text, 21*answers, jaeger.Records)
}
