package perfetto_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op/attr"
)

// FuzzRecords checks that no input makes the reader panic, that the entries it makes are
// valid, and that they read back from JSON Lines as they were.
func FuzzRecords(f *testing.F) {
	files := check.Must(filepath.Glob("testdata/*.pftrace"))(f)
	for _, file := range files {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, trace []byte) {
		m := &attr.Mapping{}
		m.Keep("settings")
		recordtest.Check(t, perfetto.Records(bytes.NewReader(trace), "fuzz", m))
		perfetto.Sniff(trace)
	})
}
