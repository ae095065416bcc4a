package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/race"
	"github.com/optrace/optrace/internal/spantest"
)

// exportTo appends operations with the steps 0 to n-1 to the file at path.
func exportTo(t *testing.T, path string, n int, opts ...optrace.FileExporterOption) optrace.Stats {
	t.Helper()
	exp, err := optrace.NewFileExporter(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(n)); err != nil {
		t.Fatal(err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return exp.Stats()
}

// files returns the contents of the files in dir in the order of their names.
func files(t *testing.T, dir string) (names []string, contents [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		contents = append(contents, readFile(t, filepath.Join(dir, e.Name())))
	}
	return names, contents
}

// A process that was killed within its second batch: the next one loses no whole
// batch and changes nothing that is there. A line is ended; another file that
// ends within a batch is renamed.
func TestReopenAfterKill(t *testing.T) {
	race.Skip(t, race.OneGoroutine)
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			first, second := o.batches(t, 2, 3)
			for _, n := range cuts(len(second)) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.out")
				torn := append(bytes.Clone(first), second[:n]...)
				if err := os.WriteFile(path, torn, 0o600); err != nil {
					t.Fatal(err)
				}
				exportTo(t, path, 1, o.fileOptions()...)
				names, contents := files(t, dir)
				switch {
				case n == 0 && !o.lines():
					if diff := cmp.Diff([]int64{0, 1, 0}, o.steps(t, contents[0], 0)); diff != "" {
						t.Fatalf("killed at byte %d: entries (-want +got):\n%s", n, diff)
					}
				case !o.lines():
					if len(names) != 2 || !bytes.Equal(contents[0], torn) {
						t.Fatalf("killed at byte %d: files %q, want the torn one as it was and a new one", n, names)
					}
					if got := o.steps(t, contents[1], 0); len(got) != 1 {
						t.Fatalf("killed at byte %d: the new file holds %v", n, got)
					}
				case len(names) != 1:
					t.Fatalf("killed at byte %d: files %q, want one", n, names)
				case o.lines():
					got := o.steps(t, contents[0], 1)
					if len(got) < 3 || got[len(got)-1] != 0 || !bytes.HasPrefix(contents[0], torn) {
						t.Fatalf("killed at byte %d: entries %v", n, got)
					}
				default:
					if diff := cmp.Diff([]int64{0, 1, 0}, o.steps(t, contents[0], 0)); diff != "" {
						t.Fatalf("killed at byte %d: entries (-want +got):\n%s", n, diff)
					}
				}
			}
		})
	}
}

// cuts returns numbers below n: all near the ends, where lengths and checksums
// are, and some between.
func cuts(n int) (all []int) {
	for i := range n {
		if i < 24 || i >= n-24 || i%37 == 0 {
			all = append(all, i)
		}
	}
	return all
}

// A constructor changes nothing, whatever it finds.
func TestReopenChangesNothingBeforeTheFirstBatch(t *testing.T) {
	for _, o := range outputs() {
		dir := t.TempDir()
		path := filepath.Join(dir, "ops.out")
		torn := o.batchOf(t, 2)
		torn = torn[:len(torn)-3]
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		exp, err := optrace.NewFileExporter(path, o.fileOptions(optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))...)
		if err != nil {
			t.Fatal(err)
		}
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if names, contents := files(t, dir); len(names) != 1 || !bytes.Equal(contents[0], torn) {
			t.Errorf("%v: files %q have changed", o, names)
		}
	}
}

func TestReopenWhole(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.out")
		exportTo(t, path, 2, o.fileOptions()...)
		exportTo(t, path, 3, o.fileOptions()...)
		if diff := cmp.Diff([]int64{0, 1, 0, 1, 2}, o.steps(t, readFile(t, path), 0)); diff != "" {
			t.Errorf("%v: entries (-want +got):\n%s", o, diff)
		}
	}
}

// What would make a file unreadable is refused.
func TestReopenForeign(t *testing.T) {
	for _, before := range outputs() {
		for _, o := range outputs() {
			path := filepath.Join(t.TempDir(), "ops.out")
			content := before.batchOf(t, 2)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			exp, err := optrace.NewFileExporter(path, o.fileOptions()...)
			if err == nil {
				_ = exp.Shutdown(t.Context())
			}
			if (err == nil) != (before == o) {
				t.Errorf("appending %v to %v: error %v", o, before, err)
			}
			if !bytes.Equal(content, readFile(t, path)) {
				t.Errorf("appending %v to %v has changed the file", o, before)
			}
		}
	}
}
