package optrace_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
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

// sizeLimitChild tells the test binary that it is the child of the test below.
const sizeLimitChild = "OPTRACE_TEST_SIZE_LIMIT_CHILD"

// A file that may not grow: the batch that does not fit is cut off, and what
// got through is counted and readable. The limit holds for all files of a
// process, the test runner's among them, so this one is a process of its own.
func TestFileExporterFileSizeLimit(t *testing.T) {
	if os.Getenv(sizeLimitChild) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFileExporterFileSizeLimit$")
		cmd.Env = append(os.Environ(), sizeLimitChild+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const limit = 40_000
	signal.Ignore(syscall.SIGXFSZ)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	l.Cur = limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
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
