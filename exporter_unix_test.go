//go:build unix

package optrace_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// A link under the exporter's name leads nobody's operations to another file.
func TestFileSymlinkRefused(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": victim, "nothing": filepath.Join(dir, "missing")} {
		path := filepath.Join(dir, "link to "+name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		if _, err := optrace.NewFileExporter(path); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("a link to %s: NewFileExporter returns %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("the file behind the link: %v", err)
	}
	// A link that is put there while the exporter runs is not followed either.
	path := filepath.Join(dir, "ops.jsonl")
	exp := newFile(t, path)
	export(t, exp, spantest.Operations(1)...)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err == nil {
		t.Error("exporting through a link succeeds")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	export(t, exp, spantest.Operations(2)...)
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkBooks(t, "exporter", exp.Stats())
	if got := string(readFile(t, victim)); got != "precious\n" {
		t.Errorf("the victim holds %q", got)
	}
	if rec := spantest.ReadWhole(t, readFile(t, path)); len(rec.Entries) != 2 || rec.Lost() != 1 {
		t.Errorf("%d entries and a loss of %d", len(rec.Entries), rec.Lost())
	}
}

// A link to a device or a pipe is followed: /dev/stdout is one.
func TestFileSymlinkToDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Fatal(err)
	}
	exp := newFile(t, path)
	export(t, exp, spantest.Operations(1)...)
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := optrace.NewFileExporter(os.DevNull, optrace.WithRotation(optrace.Rotation{MaxBytes: 1000})); err == nil {
		t.Error("a device can be rotated")
	}
}

// Links under the name of a rotated file are neither followed nor replaced nor
// deleted.
func TestRotationSymlink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		victim := filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("precious\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, "ops-2000-01-01T00-00-00.000.jsonl")
		if err := os.Symlink(victim, link); err != nil {
			t.Fatal(err)
		}
		dangling := filepath.Join(dir, "ops-2000-01-01T00-00-00.000_0001.jsonl")
		if err := os.Symlink(filepath.Join(dir, "missing"), dangling); err != nil {
			t.Fatal(err)
		}
		exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 1, MaxTotalBytes: 1}))
		for i := range 4 {
			export(t, exp, spantest.Operation(i).Snapshot())
		}
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := string(readFile(t, victim)); got != "precious\n" {
			t.Errorf("the victim holds %q", got)
		}
		for _, path := range []string{link, dangling} {
			if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s is no link any more: %v", path, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
			t.Errorf("the file behind the dangling link: %v", err)
		}
	})
}

// Files are for their owner only, whatever the process allows.
func TestRotationPermissions(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := t.TempDir()
	exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	for range 3 {
		export(t, exp, spantest.Operations(1)...)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, _ := files(t, dir)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if len(names) != 3 {
		t.Errorf("files %q, want 3", names)
	}
}

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
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
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
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
	}
}
