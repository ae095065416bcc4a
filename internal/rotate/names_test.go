package rotate

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Names sort by time, also where in one millisecond files come and go.
func TestRotatedNamesSortByTime(t *testing.T) {
	for _, file := range []string{"ops.jsonl", "ops", "ops.jsonl.gz"} {
		n := newNames(filepath.Join(t.TempDir(), file))
		now := time.Date(2026, 11, 21, 0, 32, 27, 391_000_000, time.UTC)
		last := ""
		for i := range 30 {
			path, err := n.reserve(now, last)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(path)
			if name <= last {
				t.Fatalf("%s follows %s", name, last)
			}
			if _, ok := n.stamp(name); !ok {
				t.Errorf("%s is not recognised", name)
			}
			last = name
			if files, err := n.list(); err != nil || len(files) > 2 {
				if err := os.Remove(n.path(files[0].name)); err != nil {
					t.Fatal(err)
				}
			}
			if i == 20 {
				now = now.Add(time.Millisecond)
			}
		}
	}
}
