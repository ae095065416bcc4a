package optrace_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
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

// limitedChild tells a child process of TestOutputFileSizeLimit what it is.
const limitedChild = "OPTRACE_TEST_LIMITED_CHILD"

// A file that may grow no further takes part of a batch, and its rest once
// there is room. The limit holds for a whole process, hence in one of its own.
func TestOutputFileSizeLimit(t *testing.T) {
	if os.Getenv(limitedChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), limitedChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
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
		if got := o.steps(t, readFile(t, path), 0); !slices.Equal(got, []int64{0, 1, 0, 1, 2, 0}) {
			t.Errorf("%v: entries %v", o, got)
		}
		checkBooks(t, "exporter", exp.Stats())
	}
}

// setFileSizeLimit sets how large this process may make files and returns the
// limit before.
func setFileSizeLimit(t *testing.T, limit uint64) (before uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	before, l.Cur = l.Cur, limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	return before
}
