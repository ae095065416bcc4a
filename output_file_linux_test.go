package optrace_test

import (
	"errors"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A disk that is full, in every format.
func TestOutputDiskFull(t *testing.T) {
	for _, o := range outputs() {
		exp := newFile(t, "/dev/full", o.options()...)
		for range 8 {
			if err := exp.ExportSpans(t.Context(), opSpans(5)); err == nil {
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
	for _, o := range outputs() {
		if o.lines() {
			continue
		}
		path := filepath.Join(t.TempDir(), "ops.out")
		exp := newFile(t, path, o.options()...)
		export(t, exp, opSpans(2)...)
		withFileSizeLimit(t, uint64(size(path))+50, func() {
			if err := exp.ExportSpans(t.Context(), opSpans(3)); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%v: exporting returns %v", o, err)
			}
		})
		export(t, exp, opSpans(1)...)
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := o.steps(t, readFile(t, path), 0); !slices.Equal(got, []int64{0, 1, 0, 1, 2, 0}) {
			t.Errorf("%v: entries %v", o, got)
		}
		checkBooks(t, "exporter", exp.Stats())
	}
}

// withFileSizeLimit runs f while no file of this process may grow beyond limit.
func withFileSizeLimit(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skip(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}()
	f()
}
