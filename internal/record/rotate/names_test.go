package rotate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

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
