package optrace_test

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/optrace/optrace/internal/spantest"
)

// A disk that is full, in every format.
func TestOutputDiskFull(t *testing.T) {
	for _, o := range outputs() {
		exp := newFile(t, "/dev/full", o.fileOptions()...)
		for range 8 {
			if err := exp.ExportSpans(t.Context(), spantest.Operations(5)); err == nil {
				t.Errorf("%v: no error", o)
			}
		}
		_ = exp.Shutdown(t.Context())
		if st := exp.Stats(); st.Dropped != 40 || st.Written != 0 {
			t.Errorf("%v: stats %+v", o, st)
		}
	}
}

// A file that may grow no further takes part of a batch, and its rest once
// there is room.
func TestOutputFileSizeLimit(t *testing.T) {
	if !inLimitedChild(t) {
		return
	}
	for _, o := range outputs() {
		if o.healsLines() {
			continue
		}
		path := filepath.Join(t.TempDir(), "ops.out")
		exp := newFile(t, path, o.fileOptions()...)
		export(t, exp, spantest.Operations(2)...)
		before := setFileSizeLimit(t, uint64(size(path))+50)
		if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%v: exporting returns %v", o, err)
		}
		setFileSizeLimit(t, before)
		export(t, exp, spantest.Operations(1)...)
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := spantest.Read(t, readFile(t, path)).Steps(); !slices.Equal(got, []int64{0, 1, 0, 1, 2, 0}) {
			t.Errorf("%v: entries %v", o, got)
		}
		checkBooks(t, "exporter", exp.Stats())
	}
}
