package rotate

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func open(t *testing.T, path string, limits Limits) *File {
	t.Helper()
	f := check.Must(Open(path, limits, whole))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A file ages from its first write on, and after a restart from the last rotation.
func TestRotationByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		f := open(t, path, Limits{MaxAge: time.Hour})
		for i, step := range []struct {
			pause  time.Duration
			reopen bool
			files  int
		}{
			{2 * time.Hour, false, 1}, // an empty file does not age
			{time.Hour - 1, false, 1}, {1, false, 2}, {59 * time.Minute, true, 2}, {time.Minute, false, 3},
		} {
			if time.Sleep(step.pause); step.reopen {
				f = open(t, path, Limits{MaxAge: time.Hour})
			}
			write(t, f, "x")
			names, _ := check.Files(t, filepath.Dir(path))
			if len(names) != step.files || step.files > 1 && names[0] != "ops-2000-01-01T03-00-00.000.jsonl" {
				t.Fatalf("step %d: files %q, want %d", i, names, step.files)
			}
		}
	})
}

// Many rotations in one instant get numbers. A clock set back does not put new files in front of old ones.
func TestRotationNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		future := "ops-2000-01-01T00-00-07.000.jsonl"
		check.OK(t, os.WriteFile(filepath.Join(dir, future), nil, 0o600))
		f := open(t, filepath.Join(dir, "ops.jsonl"), Limits{MaxBytes: 1})
		const want = "abcdefghijkl"
		for _, c := range want {
			write(t, f, string(c))
		}
		names, contents := check.Files(t, dir)
		if text := string(bytes.Join(contents, nil)); text != want || len(names) != 13 || names[0] != future ||
			names[1] != "ops-2000-01-01T00-00-07.000_0001.jsonl" {
			t.Errorf("files %q hold %q", names, contents)
		}
	})
}

// Only files of the pattern are deleted, the oldest first.
func TestRotationDeletes(t *testing.T) {
	dir := t.TempDir()
	others := []string{
		"ops-2000-01-01T00-00-00.000.jsonl.bak", "ops-2000-01-01T00-00-00.000_01.jsonl",
		"ops-2000-13-01T00-00-00.000.jsonl",
		"ops-.jsonl", "ops-old.jsonl", "other-2000-01-01T00-00-00.000.jsonl", "ops-2000-01-01T00-00-00.jsonl",
	}
	own := []string{"ops-2000-01-01T00-00-00.000.jsonl", "ops-2000-01-01T00-00-00.000_0002.jsonl"}
	for _, name := range slices.Concat(others, own) {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), make([]byte, 5000), 0o600))
	}
	check.OK(t, os.Mkdir(filepath.Join(dir, "ops-2001-01-01T00-00-00.000.jsonl"), 0o700))
	f := open(t, filepath.Join(dir, "ops.jsonl"), Limits{MaxBytes: 4000, MaxTotal: 8000})
	write(t, f, strings.Repeat("x", 1000))
	names, _ := check.Files(t, dir)
	if f.Deleted() != 1 || slices.Contains(names, own[0]) || !slices.Contains(names, own[1]) {
		t.Errorf("%d files deleted, want the oldest one: %q", f.Deleted(), names)
	}
	for range 5 {
		write(t, f, strings.Repeat("x", 3000))
	}
	names, _ = check.Files(t, dir)
	for _, name := range others {
		if !slices.Contains(names, name) {
			t.Errorf("%s was deleted", name)
		}
	}
	if f.Deleted() < 2 || slices.Contains(names, own[1]) {
		t.Errorf("%d files deleted: %q", f.Deleted(), names)
	}
}

// A file that cannot be rotated, here for a too long name, is still written to, and once in a while an error tells.
func TestRotationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := open(t, filepath.Join(dir, strings.Repeat("o", 240)+".jsonl"), Limits{MaxBytes: 1})
		failures := 0
		for range 25 {
			if _, err := f.Ready(1); err != nil {
				if failures++; !IsNotice(err) {
					t.Fatal(err)
				}
			}
			check.Must(io.WriteString(f, "x"))(t)
			f.Release()
			time.Sleep(time.Second)
		}
		if names, contents := check.Files(t, dir); failures != 3 || len(names) != 1 || len(contents[0]) != 25 {
			t.Errorf("%d errors in 25 s, want one every ten; files %q hold %q", failures, names, contents)
		}
	})
}

// W6: The path keeps its first meaning after a change of the working directory.
func TestPathIsFixedAtTheStart(t *testing.T) {
	from := t.TempDir()
	to := t.TempDir()
	t.Chdir(from)
	f := open(t, "ops.jsonl", Limits{MaxBytes: 1})
	t.Chdir(to)
	for range 3 {
		write(t, f, "x")
	}
	gone, _ := check.Files(t, to)
	names, _ := check.Files(t, from)
	check.Equal(t, "files where the process went, and was", [2]int{0, 3}, [2]int{len(gone), len(names)})
}

func TestLimitsValidate(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		want   string // of the error, "" for none
	}{
		{Limits{}, ""}, {Limits{MaxBytes: 10, MaxAge: time.Hour, MaxTotal: 10}, ""},
		{Limits{MaxBytes: -1}, "file size -1 is negative"}, {Limits{MaxAge: -1}, "file age -1ns is negative"},
		{Limits{MaxTotal: -1}, "total size -1 is negative"}, {Limits{MaxTotal: 10}, "needs rotation by size"},
		{Limits{MaxBytes: 11, MaxTotal: 10}, "below the file size 11"},
	} {
		err := tt.limits.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.limits, err, tt.want)
		}
	}
}

// write writes text as a sink does.
func write(t *testing.T, f *File, text string) {
	t.Helper()
	check.Must(f.Ready(len(text)))(t)
	check.OK(t, f.Reserve(len(text)))
	check.Must(io.WriteString(f, text))(t)
	f.Release()
}

// whole is an Inspect for whole records.
func whole(_ io.ReaderAt, _, size int64) (Ending, int64, error) { return EndsWhole, size, nil }

// Names sort by time, also where in one millisecond files come and go.
func TestRotatedNamesSortByTime(t *testing.T) {
	for _, file := range []string{"ops.jsonl", "ops", "ops.jsonl.gz"} {
		n := newNames(filepath.Join(t.TempDir(), file))
		now := time.Date(2026, 11, 21, 0, 32, 27, 391_000_000, time.UTC)
		last := ""
		for i := range 30 {
			current := n.path("current")
			check.OK(t, os.WriteFile(current, nil, 0o600))
			check.OK(t, n.move(current, now, last))
			files := check.Must(n.list())(t)
			name := files[len(files)-1].name
			if name <= last {
				t.Fatalf("%s follows %s", name, last)
			}
			last = name
			if len(files) > 2 {
				check.OK(t, os.Remove(n.path(files[0].name)))
			}
			if i == 20 {
				now = now.Add(time.Millisecond)
			}
		}
	}
}

// A file gets a free name, and no file is ever replaced.
func TestRenameNew(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{"without replacing": renameNew,
		"reserved": renameReserved} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from := filepath.Join(dir, "from")
			to := filepath.Join(dir, "to")
			write := func(path, text string) {
				check.OK(t, os.WriteFile(path, []byte(text), 0o600))
			}
			check.Is(t, "without a file", os.ErrNotExist, rename(from, to))
			_, err := os.Lstat(to)
			check.Is(t, "the new name", os.ErrNotExist, err)
			write(from, "first")
			check.OK(t, rename(from, to))
			write(from, "second")
			check.Is(t, "to a name that is taken", os.ErrExist, rename(from, to))
			_, contents := check.Files(t, dir)
			check.Equal(t, "the files hold", "second first", string(bytes.Join(contents, []byte(" "))))
		})
	}
}
