//go:build unix

package optrace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

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
