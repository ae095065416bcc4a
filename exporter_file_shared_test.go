package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// Somebody renames, removes or empties the file: what comes next goes to a file
// under the exporter's name that can be read by itself.
func TestFileTakenAway(t *testing.T) {
	for _, o := range outputs() {
		for name, take := range map[string]func(path string) error{
			"renamed": func(path string) error { return os.Rename(path, path+".1") },
			"removed": os.Remove,
			"emptied": func(path string) error { return os.Truncate(path, 0) },
			"replaced": func(path string) error {
				text, err := os.ReadFile(path)
				if err == nil {
					err = os.Rename(path, path+".1")
				}
				if err == nil {
					err = os.WriteFile(path, text, 0o600)
				}
				return err
			},
		} {
			t.Run(o.String()+" "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "ops.jsonl")
				exp := newFile(t, path, o.fileOptions()...)
				export(t, exp, spantest.Operations(2)...)
				if err := take(path); err != nil {
					_ = exp.Shutdown(t.Context())
					t.Skip("an open file cannot be taken away here:", err)
				}
				export(t, exp, spantest.Operations(3)...)
				export(t, exp, spantest.Operations(1)...)
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := []int64{0, 1, 2, 0}
				if name == "replaced" {
					want = append([]int64{0, 1}, want...)
				}
				text := readFile(t, path)
				if diff := cmp.Diff(want, o.steps(t, text, 0)); diff != "" {
					t.Errorf("entries (-want +got):\n%s", diff)
				}
				if o.format == optrace.FormatEntries && len(read(t, o.plain(t, text)).resources) == 0 {
					t.Error("no header")
				}
				if name == "renamed" {
					if got := o.steps(t, readFile(t, path+".1"), 0); !slices.Equal(got, []int64{0, 1}) {
						t.Errorf("the renamed file holds %v", got)
					}
				}
			})
		}
	}
}

// exportShared makes two exporters write to the file at path, at the same time, and
// returns how many operations they have written.
func exportShared(t *testing.T, path string, options ...optrace.FileExporterOption) (written int) {
	t.Helper()
	const batches, perBatch = 40, 3
	done := make(chan optrace.Stats)
	for range 2 {
		exp := newFile(t, path, options...)
		go func() {
			for range batches {
				if err := exp.ExportSpans(t.Context(), spantest.Operations(perBatch)); err != nil {
					t.Error(err)
				}
			}
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			done <- exp.Stats()
		}()
	}
	for range 2 {
		if st := <-done; st.Written != batches*perBatch {
			t.Errorf("stats %+v", st)
		}
		written += batches * perBatch
	}
	return written
}

// Two exporters rotate one file: nothing is lost and nothing is torn.
func TestRotationSharedConcurrentSafe(t *testing.T) {
	dir := t.TempDir()
	written := exportShared(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 4000}))
	names, contents := files(t, dir)
	rec := readWhole(t, bytes.Join(contents, nil))
	if len(rec.entries) != written {
		t.Errorf("%d entries in %d files, want %d", len(rec.entries), len(names), written)
	}
}
