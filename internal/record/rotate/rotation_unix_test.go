//go:build unix

package rotate

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/optrace/optrace/internal/testing/check"
)

// victim makes a file that must not change, and checks it at the end.
func victim(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "victim")
	check.OK(t, os.WriteFile(path, []byte("precious"), 0o600))
	t.Cleanup(func() {
		check.Equal(t, "the victim holds", "precious", string(check.Must(os.ReadFile(path))(t)))
	})
	return path
}

func link(t *testing.T, target, path string) {
	t.Helper()
	check.OK(t, os.Symlink(target, path))
}

// A link under the name of the file leads the operations to no other file, even if it comes later. A link to a device,
// such as /dev/stdout, is followed.
func TestFileSymlinkRefused(t *testing.T) {
	dir := t.TempDir()
	victim := victim(t, dir)
	missing := filepath.Join(dir, "missing")
	for name, target := range map[string]string{"file": victim, "nothing": missing} {
		path := filepath.Join(dir, "link to "+name)
		link(t, target, path)
		if _, err := Open(path, Limits{}, whole); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("a link to %s: %v", name, err)
		}
	}
	_, err := os.Lstat(missing)
	check.Is(t, "the file behind the link", os.ErrNotExist, err)
	path := filepath.Join(dir, "ops.jsonl")
	f := open(t, path, Limits{})
	write(t, f, "x")
	check.OK(t, os.Remove(path))
	link(t, victim, path)
	_, err = f.Ready(1)
	check.Says(t, "a link that comes later", "symbolic link", err)
	check.OK(t, os.Remove(path))
	write(t, f, "y")
	check.Equal(t, "without the link the file holds", "y", string(check.Must(os.ReadFile(path))(t)))
	device := filepath.Join(dir, "null")
	link(t, os.DevNull, device)
	write(t, open(t, device, Limits{}), "x")
}

// Links under the name of a rotated file are neither followed nor replaced nor deleted.
func TestRotationSymlink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		links := []string{filepath.Join(dir, "ops-2000-01-01T00-00-00.000.jsonl"),
			filepath.Join(dir, "ops-2000-01-01T00-00-00.000_0001.jsonl")}
		missing := filepath.Join(dir, "missing")
		link(t, victim(t, dir), links[0])
		link(t, missing, links[1])
		f := open(t, filepath.Join(dir, "ops.jsonl"), Limits{MaxBytes: 1, MaxTotal: 1})
		for range 4 {
			write(t, f, "x")
		}
		for _, path := range links {
			check.Equal(t, path, os.ModeSymlink, check.Must(os.Lstat(path))(t).Mode().Type())
		}
		_, err := os.Lstat(missing)
		check.Is(t, "the file behind the dangling link", os.ErrNotExist, err)
	})
}

// Files are for their owner only, whatever the process allows.
func TestRotationPermissions(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := t.TempDir()
	f := open(t, filepath.Join(dir, "ops.jsonl"), Limits{MaxBytes: 1})
	for range 3 {
		write(t, f, "x")
	}
	names, _ := check.Files(t, dir)
	for _, name := range names {
		check.Equal(t, name, 0o600, check.Must(os.Stat(filepath.Join(dir, name)))(t).Mode())
	}
	check.Equal(t, "files", 3, len(names))
}

// W8: A named pipe without a reader is an error and not a hang. With a new reader it is written to again.
func TestPipeWithoutReaderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes:", err)
	}
	f := open(t, path, Limits{})
	put := func() error {
		if _, err := f.Ready(1); err != nil {
			return err
		}
		defer f.Release()
		_, err := io.WriteString(f, "x")
		return err
	}
	if put() == nil {
		t.Error("writing without a reader is no error")
	}
	for round := range 2 {
		reader := check.Must(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
		check.OK(t, put())
		got := make([]byte, 2)
		if n, err := reader.Read(got); n != 1 || got[0] != 'x' {
			t.Errorf("round %d: the pipe has %q, %v", round, got[:n], err)
		}
		check.OK(t, reader.Close())
		for range 2 {
			if put() == nil {
				t.Errorf("round %d: writing to a reader that has gone is no error", round)
			}
		}
	}
}

// W9: Files and pipes of another user in a shared directory are refused. Elsewhere the directory's owner answers for
// its files.
func TestPlantedFilesAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	shared := t.TempDir()
	own := t.TempDir()
	check.OK(t, os.Chmod(shared, 0o777|os.ModeSticky))
	for name, create := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o666) },
	} {
		for _, dir := range []string{shared, own} {
			path := filepath.Join(dir, name)
			check.OK(t, create(path))
			open(t, path, Limits{}) // one's own is accepted
			check.OK(t, os.Chown(path, 12345, 12345))
			_, err := Open(path, Limits{}, whole)
			if refused := err != nil && strings.Contains(err.Error(), "another user"); refused != (dir == shared) {
				t.Errorf("a %s of another user, shared: %v: %v", name, dir == shared, err)
			}
		}
	}
}

// W1: A stopped process that holds the file keeps no other from writing.
func TestStoppedNeighbourDoesNotBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	f := open(t, path, Limits{})
	neighbour := check.Must(os.Open(path))(t)
	defer neighbour.Close()
	if err := syscall.Flock(int(neighbour.Fd()), syscall.LOCK_EX); err != nil {
		t.Skip("no locks:", err)
	}
	for range 20 {
		write(t, f, "x")
	}
	check.Equal(t, "the file holds", strings.Repeat("x", 20), string(check.Must(os.ReadFile(path))(t)))
}
