//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/check"
)

// A waiting command ends at a signal and leaves no file behind.
func TestSignals(t *testing.T) {
	commands := map[string]struct {
		args []string
		feed func(t *testing.T, cmd *exec.Cmd, dir string) io.Closer
	}{
		"report of standard input":  {[]string{"report", "-o", "out", "-"}, feedStdin},
		"convert of standard input": {[]string{"convert", "-to", "csv", "-o", "out", "-"}, feedStdin},
		"correlate":                 {[]string{"correlate", "-o", "out", "-"}, feedStdin},
		"report of a named pipe":    {[]string{"report", "-o", "out", "in"}, feedPipe},
	}
	for name, test := range commands {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+", "+sig.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				out := filepath.Join(dir, "out")
				check.OK(t, os.WriteFile(out, []byte("as before"), 0o600))
				cmd := exec.CommandContext(t.Context(), "optrace", test.args...)
				cmd.Dir = dir
				var stdout, stderr bytes.Buffer
				cmd.Stdout = &stdout
				cmd.Stderr = &stderr
				src := test.feed(t, cmd, dir)
				defer src.Close()
				check.OK(t, cmd.Start())
				awaitTemporary(t, dir)
				check.OK(t, cmd.Process.Signal(sig))
				err := cmd.Wait()
				var ended *exec.ExitError
				if !errors.As(err, &ended) || ended.ExitCode() != exit.BadInput {
					t.Errorf("ended with %v, want exit code %d", err, exit.BadInput)
				}
				if want := sig.String() + " signal received"; !strings.Contains(stderr.String(), want) ||
					stdout.Len() > 0 {
					t.Errorf("printed %q and %q, want only %q", stdout.String(), stderr.String(), want)
				}
				if text, err := os.ReadFile(out); string(text) != "as before" || err != nil {
					t.Errorf("the output holds %q: %v", text, err)
				}
				if left := temporaries(t, dir); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// feedStdin gives the command an open standard input.
func feedStdin(t *testing.T, cmd *exec.Cmd, _ string) io.Closer {
	return check.Must(cmd.StdinPipe())(t)
}

func feedPipe(t *testing.T, _ *exec.Cmd, dir string) io.Closer {
	check.OK(t, syscall.Mkfifo(filepath.Join(dir, "in"), 0o600))
	return io.NopCloser(nil)
}

// awaitTemporary waits until the command has opened its output.
func awaitTemporary(t *testing.T, dir string) {
	for len(temporaries(t, dir)) == 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("the output is not opened")
		case <-time.After(time.Millisecond):
		}
	}
}

func temporaries(t *testing.T, dir string) []string {
	return check.Must(filepath.Glob(filepath.Join(dir, ".out.*.tmp")))(t)
}
