package optrace_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/spantest"
)

// takings are what people do to a file to make room, or for other reasons.
func takings() map[string]func(path string) error {
	return map[string]func(path string) error{
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"removed":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".1") },
		"cut":      func(path string) error { return os.Truncate(path, size(path)-5) },
		"appended": func(path string) error { return os.Truncate(path, size(path)+1) },
		"replaced": func(path string) error {
			return os.Rename(path+".new", path)
		},
	}
}

// A write got through in part because there was no room, and then somebody made
// room: the rest of that batch has no place any more, is counted as lost, and what
// comes next can be read. A program that is started again can go on.
func TestW2PartialWriteAndFileTakenAway(t *testing.T) {
	if !inLimitedChild(t) {
		return
	}
	for _, o := range outputs() {
		for name, take := range takings() {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				if name == "replaced" {
					if err := os.WriteFile(path+".new", o.batchOf(t, 1), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				exp := newFile(t, path, o.fileOptions()...)
				export(t, exp, spantest.Operations(2)...)
				before := setFileSizeLimit(t, uint64(size(path))+150)
				for range 3 {
					if err := exp.ExportSpans(t.Context(), spantest.Operations(3)); err == nil {
						t.Error("no error")
					}
				}
				setFileSizeLimit(t, before)
				if err := take(path); err != nil {
					t.Fatal(err)
				}
				after := []int64{7, 8}
				for _, i := range after {
					_ = exp.ExportSpans(t.Context(), spantest.Operations(9)[i:i+1]) // tells of the loss
				}
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				st := exp.Stats()
				checkBooks(t, "exporter", st)
				if st.Recorded != 13 || st.Written < 4 || st.Written > 4+2 {
					t.Errorf("stats %+v", st)
				}
				found := findIn(t, dir)
				for _, i := range after {
					if n := found.Times(0, i); n != 1 {
						t.Errorf("operation %d is there %d times", i, n)
					}
				}
				again := newFile(t, path, o.fileOptions()...)
				export(t, again, spantest.Operations(1)...)
				if err := again.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				if name == "emptied" || name == "removed" || name == "moved" {
					if diff := cmp.Diff(slices.Concat(after, []int64{0}), spantest.Read(t, readFile(t, path)).Steps()); diff != "" {
						t.Errorf("the file holds (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

// A file that was removed takes no room: the exporter lets go of it with the next
// batch.
func TestW2RemovedFileIsClosed(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.x")
		exp := newFile(t, path, o.fileOptions()...)
		export(t, exp, spantest.Operations(2)...)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
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
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
