//go:build unix

package optrace_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/optrace/optrace"
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

// A named pipe whose reader has gone is an error and not a hang, and one that has
// a reader again is written to again.
func TestW8PipeWithoutReader(t *testing.T) {
	path := newPipe(t)
	exp := newFile(t, path)
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err == nil {
		t.Error("exporting without a reader is no error")
	}
	for round := range 2 {
		reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		export(t, exp, spantest.Operations(2)...)
		if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"batch":`) {
			t.Errorf("round %d: the pipe has %q, %v", round, line, err)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err == nil {
				t.Errorf("round %d: exporting to a reader that has gone is no error", round)
			}
		}
	}
	if err := exp.Shutdown(context.Background()); err == nil {
		t.Error("the last losses reach nobody, and Shutdown does not tell")
	}
	if st := exp.Stats(); st.Written != 4 || st.Dropped != 5 {
		t.Errorf("stats %+v", st)
	}
}

// A reader that does not read does not keep Shutdown from ending.
func TestW8PipeThatIsFull(t *testing.T) {
	path := newPipe(t)
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	exp := newFile(t, path)
	proc := newProcessor(t, exp, optrace.WithExportTimeout(100*time.Millisecond))
	for i := range 5000 { // more than a pipe holds
		proc.OnEnd(spantest.Operation(i).Snapshot())
	}
	done := make(chan error, 1)
	go func() { done <- proc.Shutdown(context.Background()) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("Shutdown reports no error")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Shutdown does not end")
	}
	checkBooks(t, "processor", proc.Stats())
	// The write that hangs goes on, and closes the pipe.
	if _, err := io.Copy(io.Discard, reader); err != nil {
		t.Error(err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

// Files and pipes that another user has put into a shared directory are refused.
func TestW9PlantedFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for name, create := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := create(path); err != nil {
				t.Fatal(err)
			}
			// One's own is accepted.
			if err := newFile(t, path).Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			if _, err := optrace.NewFileExporter(path); err == nil || !strings.Contains(err.Error(), "another user") {
				t.Errorf("a %s of another user: %v", name, err)
			}
		})
	}
	// Elsewhere the owner of the directory answers for what is in it.
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := newFile(t, path).Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
