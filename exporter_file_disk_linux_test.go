package optrace_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

func TestFileExporterDiskFull(t *testing.T) {
	exp := newFileExporter(t, "/dev/full")
	proc := newProcessor(t, exp, optrace.WithFlushInterval(time.Millisecond))
	for i := range 1000 {
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	if err := proc.ForceFlush(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		// An earlier flush may have used up the attempts.
		if st := proc.Stats(); err == nil && st.Dropped != 1000 {
			t.Errorf("ForceFlush returns %v with %+v", err, st)
		}
	}
	_ = proc.Shutdown(t.Context())
	st := proc.Stats()
	checkBooks(t, "processor", st)
	if st.Dropped != 1000 {
		t.Errorf("dropped %d of 1000", st.Dropped)
	}
}

// A file that may not grow: the batch that does not fit is cut off, and what
// got through is counted and readable.
func TestFileExporterFileSizeLimit(t *testing.T) {
	if !inLimitedChild(t) {
		return
	}
	const limit = 40_000
	setFileSizeLimit(t, limit)
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	exp := newFileExporter(t, path)
	var err error
	for range 10 {
		err = errors.Join(err, exp.ExportSpans(t.Context(), spantest.Operations(30)))
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("exporting returns %v, want EFBIG within", err)
	}
	_ = exp.Shutdown(t.Context())
	st := exp.Stats()
	checkBooks(t, "exporter", st)
	rec := read(t, readFile(t, path))
	if uint64(len(rec.entries)) != st.Written || len(rec.malformed) > 1 || st.Written == 0 {
		t.Errorf("%d entries are readable and %d lines not, with %+v", len(rec.entries), len(rec.malformed), st)
	}
}
