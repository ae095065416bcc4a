package optrace_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// exportShared makes two exporters write to the file at path, at the same time, and
// returns how many operations they have written.
func exportShared(t *testing.T, path string, options ...optrace.FileExporterOption) (written int) {
	t.Helper()
	const batches, perBatch = 40, 3
	done := make(chan optrace.Stats)
	for range 2 {
		exp := newFile(t, path, options...)
		go func() {
			for range batches {
				if err := exp.ExportSpans(t.Context(), spantest.Operations(perBatch)); err != nil {
					t.Error(err)
				}
			}
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			done <- exp.Stats()
		}()
	}
	for range 2 {
		if st := <-done; st.Written != batches*perBatch {
			t.Errorf("stats %+v", st)
		}
		written += batches * perBatch
	}
	return written
}

// Two exporters of one file, with and without rotation: batches stay whole, and nothing is lost.
func TestFileExportersShareFileConcurrentSafe(t *testing.T) {
	for _, limit := range []int64{0, 4000} {
		dir := t.TempDir()
		written := exportShared(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: limit}))
		names, contents := files(t, dir)
		rec := spantest.ReadWhole(t, bytes.Join(contents, nil))
		rec.CheckBatches(t, false)
		if len(rec.Entries) != written || rec.Writers() != 2 || (len(names) > 1) != (limit > 0) {
			t.Errorf("limit %d: %d entries of %d writers in %d files, want %d of 2", limit, len(rec.Entries), rec.Writers(), len(names), written)
		}
	}
}
