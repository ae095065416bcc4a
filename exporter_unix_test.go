//go:build unix

package optrace_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
)

func newPipe(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes:", err)
	}
	return path
}

// A reader that does not read does not keep Shutdown from ending.
func TestW8PipeThatIsFull(t *testing.T) {
	path := newPipe(t)
	reader := check.Must(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
	exp := newFile(t, path)
	proc := newProcessor(t, exp, optrace.WithExportTimeout(100*time.Millisecond))
	for i := range 5000 { // more than a pipe holds
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	done := make(chan error, 1)
	go func() { done <- proc.Shutdown(context.Background()) }()
	select {
	case err := <-done:
		check.Says(t, "Shutdown reports no error", "", err)
	case <-time.After(20 * time.Second):
		t.Fatal("Shutdown does not end")
	}
	checkBooks(t, "processor", proc.Stats())
	// The write that hangs goes on, and closes the pipe.
	check.Must(io.Copy(io.Discard, reader))(t)
	check.OK(t, reader.Close())
}

// stdoutChild tells a process that it is one of TestStdoutWithoutReader, and which.
const stdoutChild = "OPTRACE_TEST_STDOUT_CHILD"

// E4: where nobody reads standard output, Go ends a program that writes to it, unless
// the program takes the signal. Then it is an error as any other.
func TestStdoutWithoutReader(t *testing.T) {
	if kind := os.Getenv(stdoutChild); kind != "" {
		if kind == "ignores" {
			signal.Ignore(syscall.SIGPIPE)
		}
		exp := newExporter(t, os.Stdout)
		err := exp.ExportSpans(t.Context(), spantest.Operations(3))
		if st := exp.Stats(); !errors.Is(err, syscall.EPIPE) || st.Dropped != 3 {
			t.Errorf("ExportSpans returns %v, stats %+v", err, st)
			os.Exit(1)
		}
		os.Exit(0) // the test runner would write to standard output too
	}
	for kind, want := range map[string]syscall.Signal{"ignores": 0, "default": syscall.SIGPIPE} {
		reader, writer, err := os.Pipe()
		check.OK(t, err)
		check.OK(t, reader.Close())
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStdoutWithoutReader$")
		cmd.Env, cmd.Stdout = append(os.Environ(), stdoutChild+"="+kind), writer
		err = cmd.Run()
		var exit *exec.ExitError
		if got := syscall.Signal(0); errors.As(err, &exit) {
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				got = status.Signal()
			}
			if got != want || want == 0 {
				t.Errorf("%s: the process ended by %v, %v; want %v", kind, got, err, want)
			}
		} else if err != nil || want != 0 {
			t.Errorf("%s: the process ended with %v, want %v", kind, err, want)
		}
		check.OK(t, writer.Close())
	}
}

// A process that is stopped while it holds the file keeps nobody from writing.
func TestW1StoppedNeighbour(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ops.x")
			check.OK(t, os.WriteFile(path, nil, 0o600))
			unlock := lockFile(t, path)
			exp := newFile(t, path, o.fileOptions()...)
			for i := range 20 {
				export(t, exp, spantest.Operation(i).Snapshot())
			}
			unlock()
			shutdown(t, exp)
			check.Equal(t, "entries", spantest.UpTo(20), spantest.Read(t, readFile(t, path)).Steps())
		})
	}
}

// lockFile locks the file at path as another process does that is writing to it.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f := check.Must(os.Open(path))(t)
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Skip("no locks:", err)
	}
	return func() { _ = f.Close() }
}
