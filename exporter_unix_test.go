//go:build unix

package optrace_test

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
)

// E4: where nobody reads standard output, Go ends a program that writes to it, unless
// the program takes the signal. Then it is an error as any other.
func TestStdoutWithoutReader(t *testing.T) {
	if kind := os.Getenv(childVariable); kind != "" {
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
	for kind, want := range map[string]syscall.WaitStatus{"ignores": 0, "default": syscall.WaitStatus(syscall.SIGPIPE)} {
		reader, writer, err := os.Pipe()
		check.OK(t, err)
		check.OK(t, reader.Close())
		cmd := child(t, kind)
		cmd.Stdout = writer
		check.OK(t, cmd.Start())
		_ = cmd.Wait() // the error says what the status says
		check.Equal(t, kind+": the process ended with", want, cmd.ProcessState.Sys().(syscall.WaitStatus))
		check.OK(t, writer.Close())
	}
}
