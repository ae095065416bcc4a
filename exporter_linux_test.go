package optrace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// A write succeeds in part on a full disk that then gets room. If the file is unchanged, the next write completes the
// batch. Otherwise the rest of the batch counts as dropped. Later batches are readable, and a restarted program can
// append. See docs/reliability.md.
func TestPartialWriteAndFileTakenAway(t *testing.T) {
	if os.Getenv(childVariable) == "" { // limits hold for all files of a process, those of the test runner among them
		if out, err := child(t, "limited").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	takings := map[string]func(path string) error{
		"left":     func(string) error { return nil },
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"removed":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".1") },
		"cut":      func(path string) error { return os.Truncate(path, size(path)-5) },
		"appended": func(path string) error { return os.Truncate(path, size(path)+1) },
		"replaced": func(path string) error { return os.Rename(path+".new", path) },
	}
	for _, o := range outputs() {
		for name, take := range takings {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				if name == "replaced" {
					o.exportTo(t, path+".new", 1)
				}
				exp := newFile(t, path, o.options()...)
				export(t, exp, spantest.Operations(2)...)
				before := check.Must(fulldisk.LimitFiles(uint64(size(path)) + 150))(t)
				for range 3 {
					check.Is(t, "exporting", syscall.EFBIG, exp.ExportSpans(t.Context(), spantest.Operations(3)))
				}
				check.Must(fulldisk.LimitFiles(before))(t)
				check.OK(t, take(path))
				after := []int64{7, 8}
				for _, i := range after {
					_ = exp.ExportSpans(t.Context(), spantest.Operations(9)[i:i+1]) // the gap record
				}
				shutdown(t, exp)
				st := exp.Stats()
				checkBooks(t, "exporter", st)
				rest := uint64(0)                      // written later
				if name == "left" && o != (output{}) { // entries in lines are given up, up to the last whole one
					rest = 3
				}
				if st.Recorded != 13 || st.Written < 4+rest || st.Written > max(4+2, 4+rest) {
					t.Errorf("stats %+v", st)
				}
				found := findIn(t, dir)
				for _, i := range after {
					check.Equal(t, fmt.Sprintf("operation %d is there: times", i), 1, found.Times(0, i))
				}
				o.exportTo(t, path, 1)
				want := slices.Concat(after, []int64{0})
				switch {
				case rest > 0:
					want = slices.Concat([]int64{0, 1, 0, 1, 2}, want)
				case name != "emptied" && name != "removed" && name != "moved":
					return
				}
				check.Equal(t, "the file holds", want, spantest.Read(t, readFile(t, path)).Steps())
			})
		}
	}
}

// The exporter closes a removed file with the next batch, so that it takes no room.
func TestRemovedFileIsClosed(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.x")
		exp := newFile(t, path, o.options()...)
		export(t, exp, spantest.Operations(2)...)
		check.OK(t, os.Remove(path))
		export(t, exp, spantest.Operations(2)...)
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no list of open files:", err)
		}
		for _, fd := range open {
			if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to == path+" (deleted)" {
				t.Errorf("%v: the removed file is still open", o)
			}
		}
		shutdown(t, exp)
	}
}
