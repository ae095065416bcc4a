//go:build unix

package optrace_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
)

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
